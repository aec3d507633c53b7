// Time that stands still until a test moves it. Timers fire in order of their due time, then of their making.

import type { Milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Lets every promise chain that can go on do so: microtasks, and what needs a turn of the event loop. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class VirtualClock implements Clock {
  #elapsed = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();
  readonly #epoch: number;

  constructor(epoch: number = Date.UTC(2026, 0, 1)) {
    this.#epoch = epoch;
  }

  now(): number {
    return this.#epoch + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(delay: Milliseconds, callback: () => void): () => void {
    const timer = { due: this.#elapsed + Math.max(0, delay), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Runs everything that falls due within this time, each at its own moment, with all that follows from it. */
  async advance(duration: Milliseconds): Promise<void> {
    const end = this.#elapsed + duration;
    await settle();
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.due > end) break;
      this.#timers.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.due);
      next.callback();
      await settle();
    }
    this.#elapsed = end;
  }

  /** Advances timer by timer until the condition holds; throws with the text when it does not hold in time. */
  async until(condition: () => boolean, within: Milliseconds, what: string): Promise<void> {
    const end = this.#elapsed + within;
    await settle();
    while (!condition()) {
      const next = this.#next();
      if (next === undefined || next.due > end) {
        throw new Error(`Waited ${within} ms of virtual time for ${what}; it did not happen.`);
      }
      await this.advance((next.due - this.#elapsed) as Milliseconds);
    }
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (
        first === undefined ||
        timer.due < first.due ||
        (timer.due === first.due && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }
}

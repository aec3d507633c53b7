// A clock that stands still until a test advances it. Timers fire by due time, then in the order in which they were set.

import type { Milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Lets all pending promise chains proceed: microtasks, and one turn of the event loop. */
const flushPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A `Clock` in virtual time; it starts at 2026-01-01 UTC unless given another epoch. */
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

  /** The number of timers that are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Fires every timer that is due within this time, each at its own moment, including timers that these set. */
  async advance(duration: Milliseconds): Promise<void> {
    const end = this.#elapsed + duration;
    await flushPromises();
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.due > end) break;
      this.#timers.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.due);
      next.callback();
      await flushPromises();
    }
    this.#elapsed = end;
  }

  /** Advances timer by timer until the condition holds; throws if it does not hold `within` this time. */
  async until(condition: () => boolean, within: Milliseconds, what: string): Promise<void> {
    const end = this.#elapsed + within;
    await flushPromises();
    while (!condition()) {
      const next = this.#next();
      if (next === undefined || next.due > end) {
        throw new Error(`Timed out after ${within} ms of virtual time waiting for ${what}.`);
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

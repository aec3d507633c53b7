// Shares the event loop: spreads work that many callers begin at once over several turns, so that timers and sockets do not wait for all of it.

import { milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

/** In milliseconds. After this time, no more work begins in a turn. */
const maxSlice = 5;

class Turns {
  readonly #clock: Clock;
  /** When the current turn began; undefined if it has ended. */
  #began: number | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(): Promise<void> | undefined {
    if (this.#began === undefined) this.#begin();
    else if (this.#waiting.length > 0 || this.#clock.monotonic() - this.#began >= maxSlice)
      return new Promise((resolve) => this.#waiting.push(resolve));
    return undefined;
  }

  #begin(): void {
    this.#began = this.#clock.monotonic();
    this.#clock.after(milliseconds(0), () => {
      this.#began = undefined;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#begin();
      next();
    });
  }
}

/** A process has one event loop and one clock. */
const turns = new WeakMap<Clock, Turns>();

/**
 * Call this directly before work that takes a millisecond or more. Undefined while the current turn is short: begin
 * immediately, without an `await`, because otherwise all callers pass before the first of them works. Otherwise resolves in
 * one of the next turns, with one caller in each.
 */
export function turn(clock: Clock): Promise<void> | undefined {
  const known = turns.get(clock) ?? new Turns(clock);
  turns.set(clock, known);
  return known.take();
}

// A clock that moves only when a test moves it, so that the requests and pauses of a client in another process are
// counted exactly.

import type { Milliseconds } from "../../../../../src/core/brand.ts";
import type { Clock } from "../../../../../src/platform/clock.ts";

export class SteppedClock implements Clock {
  #elapsed = 0;

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  pass(time: Milliseconds): void {
    this.#elapsed += time;
  }

  after(): never {
    throw new Error("Nothing here waits.");
  }
}

// Lets timers and other connections run while a long stream is decoded.

import { milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";

export class Pacer {
  readonly #clock: Clock;
  readonly #maxRun = milliseconds(15);
  #resumedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#resumedAt = clock.monotonic();
  }

  /** A promise to await when the work has run for long enough; undefined otherwise, because each await costs time. */
  pause(signal: AbortSignal): Promise<void> | undefined {
    if (this.#clock.monotonic() - this.#resumedAt < this.#maxRun) return undefined;
    return sleep(this.#clock, milliseconds(0), signal).then(() => {
      this.#resumedAt = this.#clock.monotonic();
    });
  }
}

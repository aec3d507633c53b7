// The rate limit of a simulated cloud: a bucket that is refilled evenly, reported in RateLimit headers.

import type { Clock } from "../../platform/clock.ts";

const hour = 3_600_000;

/** The number of requests per period, by default an hour. */
export class RequestLimit {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #period: number;
  #left: number;
  #counted: number;

  constructor(clock: Clock, limit: number, period: number = hour) {
    this.#clock = clock;
    this.#limit = limit;
    this.#period = period;
    this.#left = limit;
    this.#counted = clock.monotonic();
  }

  get remaining(): number {
    return Math.floor(this.#refilled());
  }

  /** Leaves only this many requests, as if another client had used the rest. */
  drain(remaining = 0): void {
    this.#left = remaining;
    this.#counted = this.#clock.monotonic();
  }

  /** Takes one request, if available. */
  take(): boolean {
    this.#left = this.#refilled();
    this.#counted = this.#clock.monotonic();
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  /** The reset header is the time at which the bucket is full again. */
  headers(): Readonly<Record<string, string>> {
    const left = this.#refilled();
    const full = this.#clock.now() + ((this.#limit - left) * this.#period) / this.#limit;
    return {
      "ratelimit-limit": String(this.#limit),
      "ratelimit-remaining": String(Math.floor(left)),
      "ratelimit-reset": String(Math.ceil(full / 1000)),
    };
  }

  #refilled(): number {
    // Rounded, so that a whole second restores a whole request.
    const gained = ((this.#clock.monotonic() - this.#counted) * this.#limit) / this.#period;
    return Math.min(this.#limit, Math.round((this.#left + gained) * 1e6) / 1e6);
  }
}

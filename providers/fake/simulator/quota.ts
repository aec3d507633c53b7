// The rate limit of the simulated cloud: requests per hour, replenished evenly and reported in RateLimit headers.

import type { Clock } from "#ccm/testing";

const hour = 3_600_000;

export class Quota {
  readonly #clock: Clock;
  readonly #limit: number;
  #left: number;
  #counted: number;

  constructor(clock: Clock, perHour: number) {
    this.#clock = clock;
    this.#limit = perHour;
    this.#left = perHour;
    this.#counted = clock.monotonic();
  }

  /** Takes one request from the limit, if possible. The headers report the state after it. */
  take(): { readonly isFree: boolean; readonly headers: Readonly<Record<string, string>> } {
    const now = this.#clock.monotonic();
    this.#left = Math.min(this.#limit, this.#left + ((now - this.#counted) * this.#limit) / hour);
    this.#counted = now;
    const isFree = this.#left >= 1;
    if (isFree) this.#left -= 1;
    const full = this.#clock.now() + ((this.#limit - this.#left) * hour) / this.#limit;
    return {
      isFree,
      headers: {
        "ratelimit-limit": String(this.#limit),
        "ratelimit-remaining": String(Math.floor(this.#left)),
        "ratelimit-reset": String(Math.ceil(full / 1000)),
        ...(!isFree && { "retry-after": String(Math.ceil(hour / this.#limit / 1000)) }),
      },
    };
  }
}

// What a response says about the rate limit of an account, if the cloud does not use the usual headers.

import type { Moment } from "./call.ts";

/** The rate limit as a response reports it. Leave out what the cloud does not report. */
export interface RateLimitReport {
  /** Requests per period. Absent: the largest `remaining` so far. */
  readonly limit?: number | undefined;
  /** What is left of it, after this request. */
  readonly remaining?: number | undefined;
  /**
   * When `remaining` is high again, where all of it comes back at once. Absent, and without `full`: after a minute, in which changes
   * of users are still sent.
   */
  readonly resets?: Moment | undefined;
  /**
   * When `remaining` is the limit again, where the cloud adds a little every second (a token bucket). Takes precedence over
   * `resets`: Fairlead computes from it what is there at each moment.
   */
  readonly full?: Moment | undefined;
  /**
   * After a refusal: when the cloud accepts requests again. Absent: `resets`, or with `full` the time for one request, otherwise
   * after 5 seconds.
   */
  readonly retryAfter?: Moment | undefined;
}

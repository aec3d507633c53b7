// The rate limit of an account according to a response, if the cloud does not use the usual headers.

import type { Moment } from "./call.ts";

/** The rate limit as a response reports it. Omit values that the cloud does not report. */
export interface RateLimitReport {
  /** Requests per period. If unset, the largest `remaining` so far. */
  readonly limit?: number | undefined;
  /** The remaining requests after this request. */
  readonly remaining?: number | undefined;
  /**
   * When `remaining` is high again, if the whole limit is restored at once. Absent, and without `full`: after a minute, in which changes
   * of users are still sent.
   */
  readonly resets?: Moment | undefined;
  /**
   * When `remaining` reaches the limit, in clouds that add a little every second (a token bucket). Takes precedence over
   * `resets`: Fairlead computes the remaining requests from it continuously.
   */
  readonly full?: Moment | undefined;
  /**
   * After a refusal: when the cloud accepts requests again. If unset: `resets`, or with `full` the time for one request, otherwise
   * 5 seconds.
   */
  readonly retryAfter?: Moment | undefined;
}

// The rate limit of an account according to a response, if the cloud does not use the usual headers.

import type { Moment } from "./call.ts";

/** The rate limit as a response reports it. Omit values that the cloud does not report. */
export interface RateLimitReport {
  /** The number of requests per period. If unset, the largest `remaining` so far. */
  readonly limit?: number | undefined;
  /** The remaining requests after this request. */
  readonly remaining?: number | undefined;
  /**
   * When `remaining` recovers, if the whole limit is restored at once. Without this value and `full`, after a minute, in
   * which changes by users are still sent.
   */
  readonly resets?: Moment | undefined;
  /**
   * When `remaining` reaches the limit, in clouds that restore a little every second (a token bucket). Takes precedence
   * over `resets`: Fairlead continuously computes the remaining requests from it.
   */
  readonly full?: Moment | undefined;
  /**
   * After a rejection, when the cloud accepts requests again. If unset: `resets`, or with `full` the time for one
   * request, otherwise 5 seconds.
   */
  readonly retryAfter?: Moment | undefined;
}

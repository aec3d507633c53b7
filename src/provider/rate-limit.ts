// What a response says about the rate limit of an account, if the cloud does not use the usual headers.

import type { Moment } from "./call.ts";

/** The rate limit as a response reports it. Leave out what the cloud does not report. */
export interface RateLimitReport {
  /** Requests, or units of cost, per period. Absent: the largest `remaining` so far. */
  readonly limit?: number | undefined;
  /** What is left of it, after this request. */
  readonly remaining?: number | undefined;
  /**
   * When `remaining` is high again. If the cloud adds a little every second, return when enough is there to continue, not when
   * the limit is full. Absent: after a minute, in which changes of users are still sent.
   */
  readonly resets?: Moment | undefined;
  /** After a refusal: when the cloud accepts requests again. Absent: `resets`, otherwise after 5 seconds. */
  readonly retryAfter?: Moment | undefined;
}

// Reads rate limits and retry times from response headers, in all common spellings or as the provider declares. After a 429,
// they determine how long an operation is not sent. Pure.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";
import { type Moment, momentOfSeconds, retryAfterIn, untilMoment } from "../core/duration.ts";
import type { RateLimitReport } from "../provider/rate-limit.ts";
import type { RateLimit } from "../runtime/budget.ts";

/** Longer waits are capped, because a mistake of the cloud, a proxy or a clock must not block an account for a day. */
const maxDelay = minutes(15);

/** The wait until a moment that a cloud specified, capped. */
export function delayUntil(moment: Moment, now: number): Milliseconds {
  return milliseconds(Math.min(untilMoment(moment, now), maxDelay));
}

/** The delay after a rejection without a retry time. */
export const defaultDelay = milliseconds(5000);

/**
 * The rate limit that the provider reads. `closedFor` is the time until the cloud accepts requests again, if the response
 * states it.
 */
export function reportedRateLimit(report: RateLimitReport, status: number, now: number): RateLimit {
  const delayOf = (moment: Moment | undefined) =>
    finite(moment && delayUntil(moment, now)) as Milliseconds | undefined;
  const [limit, remaining] = [finite(report.limit), finite(report.remaining)];
  const requested = delayOf(report.retryAfter);
  // Not capped, because it is a refill rate rather than a wait.
  const fullIn = finite(report.full && untilMoment(report.full, now)) as Milliseconds | undefined;
  const resetIn =
    fullIn === undefined ? (delayOf(report.resets) ?? (remaining === 0 ? requested : undefined)) : undefined;
  const perRequest =
    fullIn === undefined || limit === undefined || remaining === undefined
      ? undefined
      : milliseconds(Math.min(fullIn / Math.max(1, limit - remaining), maxDelay));
  const refusedFor = status === 429 ? (perRequest ?? resetIn) : undefined;
  return { limit, remaining, resetIn, fullIn, closedFor: requested ?? refusedFor };
}

/** A provider may calculate with a header that is missing. */
function finite(value: number | undefined): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** `closedFor` is set only after a 429 with a retry time. */
export function rateLimitOf(response: Response, now: number): RateLimit {
  const { headers, status } = response;
  const limit = firstNumber(headers, ["ratelimit-limit", "x-ratelimit-limit"]);
  const remaining = firstNumber(headers, ["ratelimit-remaining", "x-ratelimit-remaining"]);
  const reset = firstNumber(headers, ["ratelimit-reset", "x-ratelimit-reset"]);
  const resetIn = reset === undefined ? undefined : delayUntil(momentOfSeconds(reset), now);
  const after = retryAfterIn(headers);
  const requested = after === undefined ? undefined : delayUntil(after, now);
  const refused = status === 429 ? (requested ?? resetIn) : undefined;
  // If no requests are left, Retry-After is the time until the limit is replenished.
  const resetAfterRefusal = remaining === 0 ? requested : undefined;
  return {
    limit,
    remaining,
    resetIn: resetIn ?? resetAfterRefusal,
    closedFor: refused,
  };
}

function firstNumber(headers: Headers, names: readonly string[]): number | undefined {
  for (const name of names) {
    const text = headers.get(name);
    // The draft standard appends its windows: "100, 100;w=3600" is a limit of 100.
    const number = text === null ? Number.NaN : Number.parseFloat(text);
    if (Number.isFinite(number)) return number;
  }
  return undefined;
}

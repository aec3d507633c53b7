// Reads from response headers when a cloud accepts requests again. Points in time are not converted to delays, because only the
// framework has a clock. Pure.

import { type Moment, momentOfSeconds, retryAfterIn } from "../core/duration.ts";

/**
 * `Retry-After` in either form, otherwise the reset time of a rate limit. Many clouds send the reset time with every response,
 * so set `quotaIsUsedUp: false` when the error is not about the rate limit.
 */
export function retryMoment(
  headers: Headers,
  { quotaIsUsedUp = true }: { readonly quotaIsUsedUp?: boolean } = {},
): Moment | undefined {
  const after = retryAfterIn(headers);
  if (after !== undefined || !quotaIsUsedUp) return after;
  for (const name of ["ratelimit-reset", "x-ratelimit-reset"]) {
    const seconds = Number.parseFloat(headers.get(name) ?? "");
    if (Number.isFinite(seconds)) return momentOfSeconds(seconds);
  }
  return undefined;
}

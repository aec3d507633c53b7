// When a cloud that refused wants to be asked again, as it states it. It turns nothing into "from now": providers have no
// clock, the framework has.

import { type Moment, momentOfSeconds, retryAfterIn } from "../core/moment.ts";

/** `Retry-After` in either form, else the reset of the quota where it is used up: many clouds tell it with every answer. */
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

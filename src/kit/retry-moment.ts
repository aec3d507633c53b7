// When a cloud that refused wants to be asked again, as it states it. It turns nothing into "from now": providers have no
// clock, the framework has.

import { milliseconds } from "../core/brand.ts";
import type { Moment } from "../provider/call.ts";

const momentOf = (seconds: number): Moment =>
  // Seconds since 1970 are told from an interval by their size.
  seconds > 1_000_000_000 ? { at: seconds * 1000 } : { in: milliseconds(Math.max(0, seconds) * 1000) };

/** `Retry-After` in either form, else the reset of the quota where it is used up: many clouds tell it with every answer. */
export const retryMoment = (
  headers: Headers,
  { quotaIsUsedUp = true }: { readonly quotaIsUsedUp?: boolean } = {},
): Moment | undefined => {
  const after = headers.get("retry-after");
  if (after !== null) {
    const seconds = Number(after);
    if (after.trim() !== "" && Number.isFinite(seconds)) return momentOf(seconds);
    const date = Date.parse(after);
    if (!Number.isNaN(date)) return { at: date };
  }
  if (!quotaIsUsedUp) return undefined;
  for (const name of ["ratelimit-reset", "x-ratelimit-reset"]) {
    const seconds = Number.parseFloat(headers.get(name) ?? "");
    if (Number.isFinite(seconds)) return momentOf(seconds);
  }
  return undefined;
};

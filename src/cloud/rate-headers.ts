// What clouds say about their limits in response headers, in the spellings in use, as one value.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";
import type { BudgetNews } from "../runtime/budget.ts";
import { restUntil } from "./from-now.ts";

const firstNumber = (headers: Headers, names: readonly string[]): number | undefined => {
  for (const name of names) {
    const text = headers.get(name);
    // "100, 100;w=3600" is a limit of 100: the draft standard adds its windows behind the number.
    const number = text === null ? Number.NaN : Number.parseFloat(text);
    if (Number.isFinite(number)) return number;
  }
  return undefined;
};

/** Seconds from now, or a point in time: seconds since 1970 are told from an interval by their size. */
const untilReset = (value: number | undefined, now: number): Milliseconds | undefined => {
  if (value === undefined) return undefined;
  if (value > 1_000_000_000) return restUntil(value * 1000, now);
  return milliseconds(Math.max(0, value * 1000));
};

/** `Retry-After` as seconds or as an HTTP date. */
export const retryAfterOf = (headers: Headers, now: number): Milliseconds | undefined => {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const inSeconds = Number(text);
  if (Number.isFinite(inSeconds)) return milliseconds(Math.max(0, inSeconds * 1000));
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : restUntil(date, now);
};

/** A mistake of the cloud, or of a proxy before it, must not close an account for a day. */
const longestRest = minutes(15);
const capped = (rest: Milliseconds): Milliseconds => milliseconds(Math.min(rest, longestRest));

/** After a refusal that names no time. */
export const defaultRest = milliseconds(5000);

export const budgetNewsOf = (response: Response, now: number): BudgetNews => {
  const { headers, status } = response;
  const limit = firstNumber(headers, ["ratelimit-limit", "x-ratelimit-limit"]);
  const remaining = firstNumber(headers, ["ratelimit-remaining", "x-ratelimit-remaining"]);
  const resetIn = untilReset(firstNumber(headers, ["ratelimit-reset", "x-ratelimit-reset"]), now);
  const refused = status === 429 ? (retryAfterOf(headers, now) ?? resetIn ?? defaultRest) : undefined;
  return {
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(resetIn !== undefined && { resetIn: capped(resetIn) }),
    ...(refused !== undefined && { closedFor: capped(refused) }),
  };
};

// What clouds say about their limits in response headers, in the spellings in use, as one value.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";
import { momentOfSeconds, retryAfterIn } from "../core/moment.ts";
import type { BudgetNews } from "../runtime/budget.ts";
import { backoffFor } from "./rest-for.ts";

function firstNumber(headers: Headers, names: readonly string[]): number | undefined {
  for (const name of names) {
    const text = headers.get(name);
    // "100, 100;w=3600" is a limit of 100: the draft standard adds its windows behind the number.
    const number = text === null ? Number.NaN : Number.parseFloat(text);
    if (Number.isFinite(number)) return number;
  }
  return undefined;
}

/** A mistake of the cloud, or of a proxy before it, must not close an account for a day. */
const maxBackoff = minutes(15);
const capped = (rest: Milliseconds): Milliseconds => milliseconds(Math.min(rest, maxBackoff));

/** After a refusal that names no time. */
export const defaultBackoff = milliseconds(5000);

export function budgetNewsOf(response: Response, now: number): BudgetNews {
  const { headers, status } = response;
  const limit = firstNumber(headers, ["ratelimit-limit", "x-ratelimit-limit"]);
  const remaining = firstNumber(headers, ["ratelimit-remaining", "x-ratelimit-remaining"]);
  const reset = firstNumber(headers, ["ratelimit-reset", "x-ratelimit-reset"]);
  const resetIn = reset === undefined ? undefined : backoffFor(momentOfSeconds(reset), now);
  const after = retryAfterIn(headers);
  const asked = after === undefined ? undefined : backoffFor(after, now);
  const refused = status === 429 ? (asked ?? resetIn ?? defaultBackoff) : undefined;
  return {
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(resetIn !== undefined && { resetIn: capped(resetIn) }),
    ...(refused !== undefined && { closedFor: capped(refused) }),
  };
}

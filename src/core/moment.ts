// A point in time as a server states it, from now or by its own clock, and the header that it states it in. Whoever has a
// clock makes a wait of it.

import { type Milliseconds, milliseconds } from "./brand.ts";

/** From now, or as a time (milliseconds since 1970). */
export type Moment = { readonly in: Milliseconds } | { readonly at: number };

/** Seconds since 1970 are told from an interval by their size. */
export function momentOfSeconds(seconds: number): Moment {
  return seconds > 1_000_000_000 ? { at: seconds * 1000 } : { in: milliseconds(Math.max(0, seconds) * 1000) };
}

/** `Retry-After` as seconds or as an HTTP date; undefined when it is absent or not understood. */
export function retryAfterIn(headers: Headers): Moment | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (text === "") return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return momentOfSeconds(seconds);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : { at };
}

/** `now` is wall time. */
export function untilMoment(moment: Moment, now: number): Milliseconds {
  return "in" in moment ? moment.in : milliseconds(Math.max(0, moment.at - now));
}

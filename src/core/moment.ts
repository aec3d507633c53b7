// A point in time from a server, relative to now or by the server's clock, and the headers that contain one. Pure.

import { type Milliseconds, milliseconds } from "./brand.ts";

/** When a cloud wants to be called again: `in` this long, or `at` a time in milliseconds since 1970. */
export type Moment = { readonly in: Milliseconds } | { readonly at: number };

/** A number of seconds from a header. Large values are a Unix time, small ones an interval. */
export function momentOfSeconds(seconds: number): Moment {
  return seconds > 1_000_000_000 ? { at: seconds * 1000 } : { in: milliseconds(Math.max(0, seconds) * 1000) };
}

/** `Retry-After` as seconds or as an HTTP date; undefined when it is absent or malformed. */
export function retryAfterIn(headers: Headers): Moment | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (text === "") return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return momentOfSeconds(seconds);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : { at };
}

/** The wait until then, never negative. `now` is wall time. */
export function untilMoment(moment: Moment, now: number): Milliseconds {
  return "in" in moment ? moment.in : milliseconds(Math.max(0, moment.at - now));
}

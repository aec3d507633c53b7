// Durations in Go's syntax, which annotations and flags of the Go managers use, and times in cloud response headers. Fractions
// of a millisecond are rounded. Pure.

import { type Milliseconds, milliseconds } from "./brand.ts";

const units: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** The pattern takes quadratic time for a long text that is not a duration. */
const maxLength = 100;

/**
 * A duration in Go's syntax, or undefined when the text is not one.
 *
 * @example
 * parseDuration("1h30m") // 5_400_000
 */
export function parseDuration(text: string): Milliseconds | undefined {
  if (text.length > maxLength) return undefined;
  if (/^[+-]?0$/.test(text)) return milliseconds(0);
  if (!/^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(amount) * (units.get(unit) ?? 0);
  }
  const rounded = Math.round(text.startsWith("-") ? -total : total) + 0;
  return Number.isSafeInteger(rounded) ? milliseconds(rounded) : undefined;
}

/** The shortest text that `parseDuration` parses to the same duration: `90s` becomes `1m30s`. */
export function formatDuration(duration: Milliseconds): string {
  if (duration === 0) return "0s";
  if (duration < 0) return `-${formatDuration(milliseconds(-duration))}`;
  const parts: string[] = [];
  // Measured times have fractions of a millisecond.
  let remaining = Math.max(1, Math.round(duration));
  for (const [unit, size] of [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
    ["ms", 1],
  ] as const) {
    const amount = Math.floor(remaining / size);
    if (amount > 0) parts.push(`${amount}${unit}`);
    remaining -= amount * size;
  }
  return parts.join("");
}

/** At most two units: "40s", "12m", "3h 5m", "2d 4h". */
export function roughDuration(inSeconds: number): string {
  const total = Math.max(0, Math.round(inSeconds));
  if (total < 60) return `${total}s`;
  const minutes = Math.floor(total / 60);
  if (minutes < 10) return total % 60 === 0 ? `${minutes}m` : `${minutes}m ${total % 60}s`;
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours}h` : `${hours}h ${minutes % 60}m`;
  return hours % 24 === 0 ? `${Math.floor(hours / 24)}d` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** Formats a duration as Go does, such as `12h0m0s`, `1m2.5s` or `200ms`, for programs that parse upstream's messages. */
export function goDuration(duration: number): string {
  const whole = Math.max(0, Math.round(duration));
  if (whole === 0) return "0s";
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const rest = `${(whole % 60_000) / 1000}s`;
  if (minutes === 0) return rest;
  return minutes < 60 ? `${minutes}m${rest}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${rest}`;
}

/** When a cloud allows the next call: `in` this long, or `at` a time in milliseconds since 1970. */
export type Moment = { readonly in: Milliseconds } | { readonly at: number };

/** A number of seconds from a header. Large values are a Unix time, small ones an interval. */
export function momentOfSeconds(seconds: number): Moment {
  return seconds > 1_000_000_000 ? { at: seconds * 1000 } : { in: milliseconds(Math.max(0, seconds) * 1000) };
}

/** `Retry-After` as seconds or as an HTTP date; undefined when the header is missing or malformed. */
export function retryAfterIn(headers: Headers): Moment | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (text === "") return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return momentOfSeconds(seconds);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : { at };
}

/** The wait until that moment, never negative. `now` is wall-clock time. */
export function untilMoment(moment: Moment, now: number): Milliseconds {
  return "in" in moment ? moment.in : milliseconds(Math.max(0, moment.at - now));
}

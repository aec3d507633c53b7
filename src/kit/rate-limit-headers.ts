// Reads a rate limit from headers with cloud-specific names and units, for `Account.rateLimit`. Pure.

import { milliseconds } from "../core/brand.ts";
import type { Moment } from "../provider/call.ts";
import type { RateLimitReport } from "../provider/rate-limit.ts";

/** A header that contains a time: an interval, or a time since 1970. */
export interface TimeHeader {
  readonly header: string;
  readonly unit: "milliseconds" | "seconds" | "unix-milliseconds" | "unix-seconds";
}

/** The names of the headers. Omit headers that the cloud does not send. */
export interface RateLimitHeaders {
  readonly limit?: string;
  readonly remaining?: string;
  /** When the whole limit is restored at once. */
  readonly resets?: TimeHeader;
  /** When the limit is full again, in clouds that restore a little every second, such as Hetzner. */
  readonly full?: TimeHeader;
  readonly retryAfter?: TimeHeader;
}

/**
 * Returns a function for `Account.rateLimit`. A response without any of these headers is read by the default rules.
 *
 * @example
 * rateLimit: rateLimitHeaders({
 *   remaining: "x-quota-left",
 *   retryAfter: { header: "retry-after-ms", unit: "milliseconds" },
 * }),
 */
export function rateLimitHeaders(
  names: RateLimitHeaders,
): (response: Pick<Response, "headers">) => RateLimitReport | undefined {
  return ({ headers }) => {
    const report = {
      limit: numberIn(headers, names.limit),
      remaining: numberIn(headers, names.remaining),
      resets: momentIn(headers, names.resets),
      full: momentIn(headers, names.full),
      retryAfter: momentIn(headers, names.retryAfter),
    };
    return Object.values(report).every((value) => value === undefined) ? undefined : report;
  };
}

function numberIn(headers: Headers, name: string | undefined): number | undefined {
  const number = Number.parseFloat(name === undefined ? "" : (headers.get(name) ?? ""));
  return Number.isFinite(number) ? number : undefined;
}

function momentIn(headers: Headers, time: TimeHeader | undefined): Moment | undefined {
  const number = numberIn(headers, time?.header);
  if (number === undefined || time === undefined) return undefined;
  const factor = time.unit.endsWith("milliseconds") ? 1 : 1000;
  if (time.unit.startsWith("unix-")) return { at: number * factor };
  return { in: milliseconds(Math.max(0, number * factor)) };
}

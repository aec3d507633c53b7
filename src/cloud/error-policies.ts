// How Fairlead reacts to each kind of cloud error: when it retries, and where it reports the error. A single table, so that a new
// kind of error does not compile without a policy.

import { type Milliseconds, milliseconds, minutes, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { CloudError, type CloudErrorKind } from "../provider/errors.ts";
import { type BackoffLimits, backoff } from "../runtime/backoff.ts";
import { delayUntil } from "./read-rate-limit.ts";

export interface ErrorPolicy {
  /** Exponential backoff between retries. */
  readonly retry: BackoffLimits;
  /** The person who can fix the error: the author of the object, the operator of the manager, or none if no fix is needed. */
  readonly audience: "user" | "operator" | "none";
  /** The reason in events and conditions. */
  readonly reason: string;
  /** Retries alone do not help, so the error is shown immediately. */
  readonly lasts?: true;
}

const soon = { first: seconds(1), cap: minutes(5) };
/** Used without a response. The circuit breaker admits one request at a time, so frequent attempts cost the cloud little. */
const untilReachable = { first: seconds(1), cap: seconds(30) };
const slow = { first: minutes(1), cap: minutes(15) };

export const errorPolicies = {
  "not-found": { retry: soon, audience: "none", reason: "CloudObjectNotFound" },
  conflict: { retry: { first: seconds(0.2), cap: seconds(30) }, audience: "none", reason: "CloudConflict" },
  busy: { retry: { first: seconds(2), cap: seconds(30) }, audience: "none", reason: "CloudObjectBusy" },
  invalid: { retry: slow, audience: "user", reason: "RefusedByCloud", lasts: true },
  quota: { retry: slow, audience: "user", reason: "QuotaExceeded", lasts: true },
  unauthorized: {
    retry: { first: seconds(10), cap: minutes(5) },
    audience: "operator",
    reason: "CloudAuthFailed",
    lasts: true,
  },
  forbidden: { retry: slow, audience: "operator", reason: "CloudPermissionMissing", lasts: true },
  "rate-limited": {
    retry: { first: seconds(5), cap: minutes(5) },
    audience: "operator",
    reason: "CloudThrottled",
  },
  unavailable: { retry: soon, audience: "operator", reason: "CloudUnavailable" },
} as const satisfies Record<CloudErrorKind, ErrorPolicy>;

/** True if the write fence (leadership or mode) held the request back. It then never reached the cloud. */
export const isFenced = (error: unknown): boolean => CloudError.is(error) && error.detail.cause === "fenced";

/**
 * Whether the error concerns the whole account and not one object: rejected credentials or no response. The log reports such an
 * error once for the account, not for each object.
 */
export function isAccountWide(error: unknown): boolean {
  if (!CloudError.is(error) || isFenced(error)) return false;
  const { status, cause } = error.detail;
  return (
    error.kind === "unauthorized" ||
    (error.kind === "unavailable" && status === undefined && cause !== undefined)
  );
}

export function isLasting(error: unknown): boolean {
  const policy: ErrorPolicy | undefined = CloudError.is(error) ? errorPolicies[error.kind] : undefined;
  return policy?.lasts === true;
}

/** The delay that the cloud requested; undefined if it requested none. */
export function requestedDelay(error: unknown, clock: Clock): Milliseconds | undefined {
  if (!CloudError.is(error)) return undefined;
  const { retryAfter, cause } = error.detail;
  // The breaker knows only when it admits a probe, not when the cloud responds again.
  if (retryAfter === undefined || cause === "breaker") return undefined;
  const delay = delayUntil(retryAfter, clock.now());
  // A time in the past would cause an immediate retry.
  return delay > 0 ? delay : undefined;
}

/**
 * The wait before a key is reconciled again after this error: the delay that the cloud requested, otherwise the
 * backoff.
 */
export function backoffAfter(error: unknown, failures: number, clock: Clock, random: Random): Milliseconds {
  if (!CloudError.is(error)) return backoff(failures, soon, random);
  const requested = requestedDelay(error, clock);
  if (requested !== undefined) return requested;
  const isUnreachable = error.kind === "unavailable" && isAccountWide(error);
  const limits = isUnreachable ? untilReachable : errorPolicies[error.kind].retry;
  const delay = backoff(failures, limits, random);
  const { retryAfter } = error.detail;
  const earliest = retryAfter === undefined ? 0 : delayUntil(retryAfter, clock.now());
  return milliseconds(Math.max(delay, earliest));
}

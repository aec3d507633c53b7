// What each kind of cloud error leads to: one table, so that a new kind does not compile until somebody decided.

import { type Milliseconds, minutes, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { CloudError, type CloudErrorKind } from "../provider/errors.ts";
import { type BackoffLimits, backoff } from "../runtime/backoff.ts";
import { backoffFor } from "./rest-for.ts";

export interface Disposition {
  /** When to try again, growing with failures in a row. */
  readonly retry: BackoffLimits;
  /** Whether the person who wrote the object, or the one who runs the manager, can mend it. */
  readonly report: "user" | "operator" | "nobody";
  /** Code on events and conditions. */
  readonly reason: string;
}

const soon = { first: seconds(1), cap: minutes(5) };
const slow = { first: minutes(1), cap: minutes(15) };

export const dispositions = {
  "not-found": { retry: soon, report: "nobody", reason: "CloudObjectNotFound" },
  conflict: { retry: { first: seconds(0.2), cap: seconds(30) }, report: "nobody", reason: "CloudConflict" },
  busy: { retry: { first: seconds(2), cap: seconds(30) }, report: "nobody", reason: "CloudObjectBusy" },
  invalid: { retry: slow, report: "user", reason: "RefusedByCloud" },
  quota: { retry: slow, report: "user", reason: "QuotaExceeded" },
  unauthorized: {
    retry: { first: seconds(10), cap: minutes(5) },
    report: "operator",
    reason: "CloudAuthFailed",
  },
  forbidden: { retry: slow, report: "operator", reason: "CloudPermissionMissing" },
  "rate-limited": {
    retry: { first: seconds(5), cap: minutes(5) },
    report: "operator",
    reason: "CloudThrottled",
  },
  unavailable: { retry: soon, report: "operator", reason: "CloudUnavailable" },
} as const satisfies Record<CloudErrorKind, Disposition>;

/** Not an answer of the cloud: our own fence held it back, and it was never asked. */
export const isFenced = (error: unknown): boolean => CloudError.is(error) && error.detail.cause === "fenced";

/**
 * No answer, or one to everybody: the trouble of a whole account, not of what was asked for. It is told once for all (by
 * those who see every call), so nobody needs to tell it of each object.
 */
export function isOfWholeAccount(error: unknown): boolean {
  if (!CloudError.is(error) || isFenced(error)) return false;
  const { status, cause } = error.detail;
  return (
    error.kind === "unauthorized" ||
    (error.kind === "unavailable" && status === undefined && cause !== undefined)
  );
}

/** How long a key rests after this error. What the cloud itself asked for counts if it is longer. */
export function backoffAfter(error: unknown, failures: number, clock: Clock, random: Random): Milliseconds {
  if (!CloudError.is(error)) return backoff(failures, soon, random);
  const rest = backoff(failures, dispositions[error.kind].retry, random);
  const asked = error.detail.retryAfter && backoffFor(error.detail.retryAfter, clock.now());
  return asked !== undefined && asked > rest ? asked : rest;
}

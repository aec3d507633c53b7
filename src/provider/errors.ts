// The one error a provider throws, and the closed list of what can be wrong. What each kind leads to is decided in one
// table of the framework (`cloud/error-policies.ts`); a provider never decides about retries.

import type { Moment } from "./call.ts";

/**
 * - `not-found`     the object asked for by id is not there (a definite answer, never a guess from a broken one)
 * - `conflict`      somebody else changed it at the same moment; look again
 * - `busy`          the object is being changed by the cloud and takes no orders now
 * - `invalid`       the cloud refuses what was asked; asking again gives the same
 * - `quota`         a limit of the account is reached
 * - `unauthorized`  the credentials are not accepted
 * - `forbidden`     the credentials are accepted but may not do this operation
 * - `rate-limited`  too many calls; `retryAfter` says until when, if the cloud did
 * - `unavailable`   no usable answer: network, deadline, 5xx, a body cut in the middle
 */
export type CloudErrorKind =
  | "not-found"
  | "conflict"
  | "busy"
  | "invalid"
  | "quota"
  | "unauthorized"
  | "forbidden"
  | "rate-limited"
  | "unavailable";

export interface CloudErrorDetail {
  /** The cloud's own name of the call, as in its documentation and permissions: `GET /servers`, `DescribeInstances`. */
  readonly operation: string;
  readonly status?: number;
  /** The cloud's id of the request, for its support. */
  readonly requestID?: string;
  readonly retryAfter?: Moment;
  readonly cause?: unknown;
}

const identity = Symbol.for("fairlead.cloud-error");

export class CloudError extends Error {
  readonly kind: CloudErrorKind;
  readonly detail: CloudErrorDetail;
  readonly [identity] = true;

  constructor(kind: CloudErrorKind, message: string, detail: CloudErrorDetail) {
    super(message, { cause: detail.cause });
    this.name = "CloudError";
    this.kind = kind;
    this.detail = detail;
  }

  /** True for errors of another copy of this module too (a provider built outside the repository). */
  static is(error: unknown): error is CloudError {
    return typeof error === "object" && error !== null && identity in error;
  }
}

// The error that providers throw, and its kinds. `cloud/error-policies.ts` determines how Fairlead reacts to each kind; a
// provider never retries.

import type { Moment } from "./call.ts";

/**
 * What went wrong. The kind decides when Fairlead retries and where it reports the error.
 *
 * - `not-found`     the requested object does not exist; a definite answer, never a guess from a broken response
 * - `conflict`      another client changed the object at the same time
 * - `busy`          the cloud is changing the object and accepts no requests for it now
 * - `invalid`       the cloud rejects the request, and would reject it again
 * - `quota`         a limit of the account is reached
 * - `unauthorized`  the credentials are rejected
 * - `forbidden`     the credentials are valid but do not permit the operation
 * - `rate-limited`  too many requests; `retryAfter` says until when, if the cloud does
 * - `unavailable`   no usable response: network, deadline, 5xx, truncated body
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

/** The details of a CloudError. */
export interface CloudErrorDetail {
  /** The cloud's name of the operation, as in its documentation and permissions: `GET /servers`, `DescribeInstances`. */
  readonly operation: string;
  /** HTTP status, if there was a response. */
  readonly status?: number | undefined;
  /** The cloud's own code of the error, such as `DependencyViolation`, for a provider that acts on it. */
  readonly code?: string | undefined;
  /** The scope of a `rate-limited` error: this operation, which is the default, or all operations of the account. */
  readonly scope?: "operation" | "account" | undefined;
  /** The cloud's request id, for support requests. */
  readonly requestID?: string | undefined;
  /** When the cloud accepts requests again. Fairlead retries then, but after at most 15 minutes. */
  readonly retryAfter?: Moment | undefined;
  /** A running manager's next action. It ends the message, unless a command shows it. */
  readonly promise?: string | undefined;
  /** The original error. */
  readonly cause?: unknown;
}

const identity = Symbol.for("fairlead.cloud-error");

/**
 * The only error a provider throws. `jsonApi` throws it for every failed request; throw one yourself for failures that only
 * your code can detect.
 *
 * @example
 * throw new CloudError("invalid", `Node ${target.node} has no server to route to.`, { operation: "POST /routes" });
 */
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

  get promise(): string | undefined {
    return this.detail.promise;
  }

  /** Returns true even for errors of another copy of this module, in a provider built outside the repository. */
  static is(error: unknown): error is CloudError {
    return typeof error === "object" && error !== null && identity in error;
  }
}

/** The cloud's error code, if it has one. */
export const codeOf = (error: unknown): string | undefined =>
  CloudError.is(error) ? error.detail.code : undefined;

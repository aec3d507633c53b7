// The Kubernetes client's only error class. It has a closed set of kinds, and fields with the details, so that no caller parses
// messages. Callers decide how to react; nothing is retried here.

import type { Milliseconds } from "../../core/brand.ts";

export type KubeErrorKind =
  | "not-found"
  | "already-exists"
  /** 409: the object changed, or the preconditions of a delete are not met. */
  | "conflict"
  /** 422 for a guarded patch: a value that it expects has changed. */
  | "precondition"
  | "invalid"
  | "unauthorized"
  | "forbidden"
  | "throttled"
  | "gone"
  | "timeout"
  | "unreachable"
  | "tls"
  | "server"
  /** The response exceeds `maxBytes` of the request. */
  | "too-large"
  /** The write gate refused the request before it was sent: no Lease, or observe mode. */
  | "fenced"
  /** The kubeconfig, context, key or command is invalid, so retrying does not help. */
  | "configuration"
  | "unexpected";

/**
 * The cause of a 403 other than a missing permission for the request. `admission`: admission rejected the content of the
 * request, or its namespace. `signer`: the permission to approve requests for the signer is missing.
 */
export type Denial = "admission" | "signer";

export interface KubeErrorFacts {
  /** The operation, such as "patch nodes" or "read the kubeconfig". */
  readonly operation: string;
  /** The object, such as "node-1" or "kube-system/cloud-controller-manager". */
  readonly object?: string;
  readonly status?: number;
  readonly retryAfter?: Milliseconds;
  readonly denial?: Denial | undefined;
  /** The user that lacks the permission. */
  readonly refusedUser?: string | undefined;
  /** A running manager's next action. */
  readonly promise?: string | undefined;
  readonly cause?: unknown;
}

const maxLength = 700;
/** Limits the API server's message, so that the remedy is never truncated. */
export const maxReported = 300;

export function truncate(text: string, length = maxLength): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly kind: KubeErrorKind;
  readonly operation: string;
  readonly object: string | undefined;
  readonly status: number | undefined;
  readonly retryAfter: Milliseconds | undefined;
  readonly denial: Denial | undefined;
  readonly refusedUser: string | undefined;
  readonly promise: string | undefined;

  constructor(kind: KubeErrorKind, message: string, facts: KubeErrorFacts) {
    super(truncate(message), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.operation = facts.operation;
    this.object = facts.object;
    this.status = facts.status;
    this.retryAfter = facts.retryAfter;
    this.denial = facts.denial;
    this.refusedUser = facts.refusedUser;
    this.promise = facts.promise;
  }

  /** True if retrying cannot fix the error. The process may then exit with this message. */
  get fatal(): boolean {
    return this.kind === "configuration";
  }
}

export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** A handler for `catch`: returns undefined for a KubeError of these kinds, or of any kind if none is given. Throws other errors. */
export const undefinedIf =
  (...kinds: readonly KubeErrorKind[]) =>
  (error: unknown): undefined => {
    if (!isKubeError(error, ...kinds)) throw error;
  };

// The one error that leaves this folder: a closed set of kinds with the facts in fields, so that nobody compares messages.
// What a kind leads to is decided by whoever handles it, in one table; nothing here retries.

import type { Milliseconds } from "../../core/brand.ts";

export type KubeErrorKind =
  | "not-found"
  | "already-exists"
  /** 409: the object changed, or a delete's preconditions do not hold. */
  | "conflict"
  /** 422 of a guarded patch: what it expected is no longer so. Look again. */
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
  /** Our own gate refused before anything was sent: no lease, or observing only. */
  | "fenced"
  /** Kubeconfig, context, key or command are wrong: waiting does not help. */
  | "configuration"
  | "unexpected";

export interface KubeErrorFacts {
  /** "patch nodes", "read the kubeconfig". */
  readonly operation: string;
  /** "node-1", "kube-system/cloud-controller-manager". */
  readonly object?: string;
  readonly status?: number;
  readonly retryAfter?: Milliseconds;
  readonly cause?: unknown;
}

const longest = 400;
const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly kind: KubeErrorKind;
  readonly operation: string;
  readonly object: string | undefined;
  readonly status: number | undefined;
  readonly retryAfter: Milliseconds | undefined;

  constructor(kind: KubeErrorKind, message: string, facts: KubeErrorFacts) {
    super(cut(message), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.operation = facts.operation;
    this.object = facts.object;
    this.status = facts.status;
    this.retryAfter = facts.retryAfter;
  }

  /** Cannot get better by waiting: the process may as well end and say so. */
  get fatal(): boolean {
    return this.kind === "configuration";
  }
}

export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

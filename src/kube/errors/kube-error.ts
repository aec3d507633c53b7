// The one error of the Kubernetes client: a closed set of kinds with facts in fields, so that no caller compares messages.
// Callers decide how to react; nothing is retried here.

import type { Milliseconds } from "../../core/brand.ts";
import { codeOf } from "../../core/error-message.ts";

export type KubeErrorKind =
  | "not-found"
  | "already-exists"
  /** 409: the object changed, or the preconditions of a delete do not hold. */
  | "conflict"
  /** 422 of a guarded patch: a value that it expects has changed. */
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
  /** The kubeconfig, context, key or command is invalid: retrying does not help. */
  | "configuration"
  | "unexpected";

/**
 * A 403 that does not mean that the permission of the request is missing. `admission`: it is for what the request contains, or for its namespace.
 * `signer`: the permission to approve requests for the signer is missing.
 */
export type Denial = "admission" | "signer";

export interface KubeErrorFacts {
  /** Such as "patch nodes" or "read the kubeconfig". */
  readonly operation: string;
  /** Such as "node-1" or "kube-system/cloud-controller-manager". */
  readonly object?: string;
  readonly status?: number;
  readonly retryAfter?: Milliseconds;
  readonly denial?: Denial | undefined;
  /** The user that lacks the permission. */
  readonly refusedUser?: string | undefined;
  readonly cause?: unknown;
}

const maxLength = 700;
/** Of a message of the API server, so that what to do is never cut off. */
const maxReported = 300;

function truncate(text: string, length = maxLength): string {
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

  constructor(kind: KubeErrorKind, message: string, facts: KubeErrorFacts) {
    super(truncate(message), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.operation = facts.operation;
    this.object = facts.object;
    this.status = facts.status;
    this.retryAfter = facts.retryAfter;
    this.denial = facts.denial;
    this.refusedUser = facts.refusedUser;
  }

  /** Retrying cannot fix it, so the process may exit with this message. */
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

// Turns an error response of the API server into a KubeError, from the status code and the Status object.

/** The fields of `v1.Status` that decide the kind of error. */
interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  /** The message says what to do. */
  readonly isExplained?: true;
  readonly details?: {
    readonly causes?: readonly { readonly field?: string; readonly reason?: string }[];
    readonly retryAfterSeconds?: number;
  };
}

const kindByStatus: Readonly<Record<number, KubeErrorKind>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  408: "timeout",
  409: "conflict",
  410: "gone",
  422: "invalid",
  429: "throttled",
  504: "timeout",
};

const advice: Partial<Record<KubeErrorKind, string>> = {
  unauthorized: "Check the token or client certificate in use. Fairlead reloads them before it retries.",
  forbidden:
    "Grant it: apply what the command rbac of this executable prints with the flags of the manager, and with --set user=NAME for a user of a kubeconfig.",
  precondition: "The object changed since Fairlead read it and will be reconciled again.",
};

/**
 * For a failed `test` of a JSON patch, the server returns 422 without causes; for a wrong uid in a merge patch, 422 with a
 * cause that names `metadata.uid`. Every other 422 is a failed validation.
 */
function kindOf(status: number, body: StatusBody | undefined, isJsonPatch: boolean): KubeErrorKind {
  if (status === 409 && body?.reason === "AlreadyExists") return "already-exists";
  if (status === 422) {
    const causes = body?.details?.causes;
    if (causes?.some(({ field }) => field === "metadata.uid") === true) return "precondition";
    return isJsonPatch && (causes === undefined || causes.length === 0) ? "precondition" : "invalid";
  }
  return kindByStatus[status] ?? (status >= 500 ? "server" : "unexpected");
}

/** Admission uses the status of a missing permission, for example in a namespace that is being deleted. */
function denialOf({ message = "", details }: StatusBody = {}): Denial | undefined {
  if (message.includes("not permitted to approve requests with signerName")) return "signer";
  const isTerminating = details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
  return isTerminating || /denied (?:the )?request|exceeded quota/.test(message) ? "admission" : undefined;
}

/** As RBAC names it: `User "limited" cannot patch resource …`. */
const refusedUserIn = ({ message = "" }: StatusBody = {}): string | undefined =>
  /(?:^|[ :])User "([^"]+)" cannot /.exec(message)?.[1];

/** What to do about a missing permission of this user. */
export type HowToGrant = (user: string | undefined) => string;

export function readStatus(text: string): StatusBody | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as StatusBody) : undefined;
  } catch {
    // An HTML page of a proxy, or nothing: only the status code is known.
    return undefined;
  }
}

export function statusError(
  status: number,
  body: StatusBody | undefined,
  facts: KubeErrorFacts,
  isJsonPatch = false,
  howToGrant?: HowToGrant,
): KubeError {
  const kind = kindOf(status, body, isJsonPatch);
  const denial = kind === "forbidden" ? denialOf(body) : undefined;
  const subject = facts.object === undefined ? facts.operation : `${facts.operation} ${facts.object}`;
  const reported = body?.message === undefined ? "" : `: ${truncate(body.message, maxReported)}`;
  const refusedUser = kind === "forbidden" ? refusedUserIn(body) : undefined;
  const remedy = (kind === "forbidden" ? howToGrant?.(refusedUser) : undefined) ?? advice[kind];
  const next =
    remedy === undefined || denial === "admission" || body?.isExplained === true
      ? ""
      : `${reported.endsWith(".") ? "" : "."} ${remedy}`;
  return new KubeError(kind, `The API server returned ${status} for ${subject}${reported}${next}`, {
    ...facts,
    status,
    denial,
    refusedUser,
  });
}

// Turns a failure without a response (refused, reset, TLS) into a KubeError that names the cause and the remedy. It reads
// the code of the error, never its message. Timeouts are handled by the caller.

const expired = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
const wrongName = new Set(["ERR_TLS_CERT_ALTNAME_INVALID", "HOSTNAME_MISMATCH"]);
const untrusted = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
  "UNKNOWN_CERTIFICATE_VERIFICATION_ERROR",
]);

export function transportError(error: unknown, origin: string, facts: KubeErrorFacts): KubeError {
  const code = codeOf(error);
  const withCause = { ...facts, cause: error };
  if (untrusted.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is not signed by the configured certificate authority (${code}). Check certificate-authority or certificate-authority-data in the kubeconfig, or ca.crt of the service account.`,
      withCause,
    );
  }
  if (expired.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} has expired or is not valid yet (${code}). Renew it, or correct the clock of this machine.`,
      withCause,
    );
  }
  if (wrongName.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is not valid for this host name (${code}). Use a host name that the certificate contains, or set tls-server-name in the kubeconfig.`,
      withCause,
    );
  }
  if (/TLS|SSL|CERT|X509|PEM|BORING/.test(code)) {
    return new KubeError(
      "tls",
      `The TLS handshake with ${origin} failed (${code}). Check the certificate authority, the client certificate and its key.`,
      withCause,
    );
  }
  const reason = code === "" ? "no response" : code;
  return new KubeError(
    "unreachable",
    `Cannot reach the API server at ${origin} (${reason}). Check that it is running, and the address, network and proxy. Fairlead keeps retrying.`,
    withCause,
  );
}

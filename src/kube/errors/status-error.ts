// Converts an API server error response into a KubeError, from the status code and the Status object.

import {
  type Denial,
  KubeError,
  type KubeErrorFacts,
  type KubeErrorKind,
  maxReported,
  truncate,
} from "./kube-error.ts";

/** The fields of `v1.Status` that determine the kind of error. */
interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  /** True if the message contains the remedy. */
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
 * After a failed `test` of a JSON patch, the server returns 422 without causes; after an incorrect uid in a merge patch, 422 with a
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

/** Admission uses the status code of a missing permission, for example in a namespace that is being deleted. */
function denialOf({ message = "", details }: StatusBody = {}): Denial | undefined {
  if (message.includes("not permitted to approve requests with signerName")) return "signer";
  const isTerminating = details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
  return isTerminating || /denied (?:the )?request|exceeded quota/.test(message) ? "admission" : undefined;
}

/** RBAC names the user: `User "limited" cannot patch resource …`. */
const refusedUserIn = ({ message = "" }: StatusBody = {}): string | undefined =>
  /(?:^|[ :])User "([^"]+)" cannot /.exec(message)?.[1];

/** The remedy for this user's missing permission. */
export type HowToGrant = (user: string | undefined) => string;

export function readStatus(text: string): StatusBody | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as StatusBody) : undefined;
  } catch {
    // The body is an HTML page of a proxy, or empty, so only the status code is known.
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

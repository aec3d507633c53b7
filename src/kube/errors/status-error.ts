// Turns an answer of the API server that is not a success into a KubeError, from the status code and the Status object.
// It knows nothing of connections; failures without an answer are in `transport-error.ts`.

import { KubeError, type KubeErrorFacts, type KubeErrorKind } from "./kube-error.ts";

/** The parts of `v1.Status` that matter. */
interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
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
  unauthorized:
    "The credentials were not accepted; check the token or certificate. They are read again before the next try.",
  forbidden:
    "The credentials were accepted but lack a permission; compare the cluster's roles with deploy/rbac.yaml.",
  precondition: "The object is no longer what the patch expected; it will be looked at again.",
};

/**
 * A failed `test` of a JSON patch is answered with 422 and no causes, a wrong uid in a merge patch with a cause that
 * names `metadata.uid`; every other 422 is a validation that failed.
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

export function readStatus(text: string): StatusBody | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as StatusBody) : undefined;
  } catch {
    // A proxy's HTML page, or nothing: the status code alone has to do.
    return undefined;
  }
}

export function statusError(
  status: number,
  body: StatusBody | undefined,
  facts: KubeErrorFacts,
  isJsonPatch = false,
): KubeError {
  const kind = kindOf(status, body, isJsonPatch);
  const subject = facts.object === undefined ? facts.operation : `${facts.operation} ${facts.object}`;
  const said = body?.message === undefined ? "" : `: ${body.message}`;
  const next = advice[kind];
  return new KubeError(
    kind,
    `The API server answered ${status} to ${subject}${said}${next === undefined ? "" : `${said.endsWith(".") ? "" : "."} ${next}`}`,
    { ...facts, status },
  );
}

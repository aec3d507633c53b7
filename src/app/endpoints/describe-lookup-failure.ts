// The warning for a failed lookup of the cluster's CAs, and what it means for clients of the secure port; undefined if no warning
// is needed. Pure.

import type { KubeError } from "../../kube/errors/kube-error.ts";

export interface LookupSituation {
  /** The ConfigMap, as namespace/name. */
  readonly where: string;
  /** It was read before, and its content still applies. */
  readonly isKnown: boolean;
  /** `--authentication-tolerate-lookup-failure` */
  readonly isTolerated: boolean;
}

const whatToDo = "Set --client-ca-file, or bind the Role extension-apiserver-authentication-reader";

export function describeLookupFailure(
  { kind, message }: Pick<KubeError, "kind" | "message">,
  { where, isKnown, isTolerated }: LookupSituation,
): string | undefined {
  if (kind === "forbidden" && isTolerated) return undefined;
  // An unreachable API server is reported once for all watches.
  if (isKnown && kind !== "forbidden") return undefined;
  const effect = isKnown
    ? "its last content still applies"
    : "client certificates of the cluster are not accepted";
  return `Cannot read the ConfigMap ${where}, so ${effect} on the secure port. ${whatToDo}. ${message}`;
}

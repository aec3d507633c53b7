// What a failed look at the cluster's authorities means for those who ask on the secure port; undefined where it is not
// worth a word. Pure.

import type { KubeError } from "../../kube/errors/kube-error.ts";

export interface LookupSituation {
  /** Which ConfigMap, as namespace/name. */
  readonly where: string;
  /** It was read before: what it said still counts. */
  readonly isKnown: boolean;
  /** `--authentication-tolerate-lookup-failure` */
  readonly isTolerated: boolean;
}

const whatToDo = "give --client-ca-file, or bind the Role extension-apiserver-authentication-reader";

export function describeLookupFailure(
  { kind, message }: Pick<KubeError, "kind" | "message">,
  { where, isKnown, isTolerated }: LookupSituation,
): string | undefined {
  if (kind === "forbidden" && isTolerated) return undefined;
  // An API server that is away is told of all watches together.
  if (isKnown && kind !== "forbidden") return undefined;
  const follows = isKnown
    ? "can be read no more, so what it said last still counts"
    : "cannot be read, so client certificates of the cluster count for nothing";
  return `The ConfigMap ${where} ${follows} on the secure port; ${whatToDo}: ${message}`;
}

// The one order of what applies to an object: what blocks it first comes first, and hints come last. Headlines, pages, plans,
// conditions and events use it. Pure.

import type { Severity } from "../core/problem.ts";

export interface Ranked {
  readonly kind: "problem" | "hold" | "wait" | "notice";
  readonly reason: string;
  /** The reason of the error behind an event that has upstream's reason, such as `QuotaExceeded` of `SyncLoadBalancerFailed`. */
  readonly cause?: string;
  /** A warning delays nothing. Absent: an error. */
  readonly severity?: Severity;
}

/** Waits and holds that the next answers of the cloud end, without an operator. */
const shortWaits: readonly string[] = ["LoadBalancerMissing", "WaitingForCloud", "ServiceVanished"];

export const isShortWait = (reason: string): boolean => shortWaits.includes(reason);

/** From the whole manager to a single setting. What is not named has the rank of its kind. */
const blocking: readonly (readonly string[] | "holds" | "errors" | "waits" | "warnings" | "notices")[] = [
  ["NoLeader"],
  ["ControllerDisabled"],
  ["CachesOutdated"],
  ["CloudAuthFailed", "CloudPermissionMissing"],
  ["CloudUnavailable", "KubernetesRefused", "InternalError"],
  ["QuotaExceeded"],
  ["CloudThrottled"],
  [
    "BelongsToOtherCluster",
    "BelongsToOtherService",
    "AmbiguousAdoption",
    "AdoptionNotFound",
    "AdoptionRefused",
  ],
  "holds",
  "errors",
  "waits",
  // Traffic may fail now. Other warnings are about settings, such as a default that was chosen.
  ["UnAvailableLoadBalancer", "NoMatchingNode", "NoEndpoints", "TargetsUnreachable", "TargetRefused"],
  ["LoadBalancerDrift", "DuplicateLoadBalancer"],
  "warnings",
  "notices",
];

const rankOfKind = { hold: "holds", problem: "errors", wait: "waits", notice: "notices" } as const;

const rankOfReason: ReadonlyMap<string, number> = new Map(
  blocking.flatMap((entry, rank) =>
    typeof entry === "string" ? [[entry, rank] as const] : entry.map((reason) => [reason, rank] as const),
  ),
);

const placeOf = (name: string): number => rankOfReason.get(name) ?? blocking.length;

function rankOf({ kind, reason, cause, severity }: Ranked): number {
  if (isShortWait(reason)) return placeOf("waits");
  const named = rankOfReason.get(cause ?? reason);
  if (severity !== "warning") return named ?? placeOf(rankOfKind[kind]);
  // A second load balancer of another cluster, for example, is only a warning.
  return named !== undefined && named > placeOf("waits") ? named : placeOf("warnings");
}

/** Whether it is only about a setting, such as a default that was chosen: it delays nothing, and no traffic fails. */
export const isHint = (ranked: Ranked): boolean => rankOf(ranked) >= placeOf("warnings");

/** What blocks first comes first; what is equal keeps its order. */
export function byBlocking<T>(items: readonly T[], rankedOf: (item: T) => Ranked): readonly T[] {
  if (items.length < 2) return items;
  return items
    .map((item) => ({ item, rank: rankOf(rankedOf(item)) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

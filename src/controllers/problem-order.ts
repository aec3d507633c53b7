// The common order of findings about an object: the most blocking first, hints last. Headlines, pages, plans, conditions and
// events use this order. Pure.

import type { Problem } from "../core/problem.ts";

type Ranked = Pick<Problem, "severity" | "reason" | "cause">;

/** Waits and holds that end with the cloud's next answers, without an operator. */
const shortWaits: readonly string[] = ["LoadBalancerMissing", "WaitingForCloud", "ServiceVanished"];

export const isShortWait = (reason: string): boolean => shortWaits.includes(reason);

/** From the whole manager to a single setting. A reason that is not listed gets the rank of its severity. */
const blocking: readonly (readonly string[] | Problem["severity"])[] = [
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
  "hold",
  "error",
  "wait",
  // Traffic may be failing. Other warnings concern settings, such as a default that was chosen.
  ["UnAvailableLoadBalancer", "NoMatchingNode", "NoEndpoints", "TargetsUnreachable", "AllTargetsUnhealthy"],
  ["TargetRefused"],
  ["LoadBalancerDrift", "DuplicateLoadBalancer"],
  "warning",
  "hint",
  "notice",
];

const ranks: ReadonlyMap<string, number> = new Map(
  blocking.flatMap((entry, rank) => [entry].flat().map((name) => [name, rank] as const)),
);

const rankOfName = (name: string): number => ranks.get(name) ?? blocking.length;

function rankOf({ severity, reason, cause }: Ranked): number {
  if (isShortWait(reason)) return rankOfName("wait");
  const named = ranks.get(cause ?? reason);
  if (severity !== "warning") return named ?? rankOfName(severity);
  // A second load balancer of another cluster, for example, is only a warning.
  return named !== undefined && named > rankOfName("wait") ? named : rankOfName("warning");
}

/** Whether the finding only concerns a setting, such as a default that was chosen: it delays nothing, and no traffic fails. */
export const isHint = (problem: Ranked): boolean => rankOf(problem) >= rankOfName("warning");

/** The most blocking problem comes first; equal problems keep their order. */
export const byBlocking = <T extends Ranked>(problems: readonly T[]): readonly T[] =>
  problems.length < 2 ? problems : problems.toSorted((a, b) => rankOf(a) - rankOf(b));

// Which of the eligible nodes become targets of one balancer, by policy and within the limit of its cloud. A balancer that
// would be refused for too many targets gets a part of them, spread over the zones, and says so.

import type { NodeName } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { labelPairs } from "../../well-known.ts";
import type { NodeSelector } from "../annotations/node-selector.ts";
import { inRendezvousOrder } from "./rendezvous.ts";

export interface TargetRules {
  /** `subset` wants no more than the limit; for all others a limit that is reached is a problem. */
  readonly policy: "all" | "selector" | "endpoints" | "subset";
  readonly selector?: NodeSelector;
  /** Nodes with an endpoint of the Service; undefined where they cannot be known, then every node is taken. */
  readonly endpointsNodes?: ReadonlySet<NodeName>;
  /** The most targets that are wished for. */
  readonly limit?: number;
  /** The most targets that the cloud takes. */
  readonly cloudLimit?: number;
  /** Usually the Service's uid: each Service gets another part, so that the load is spread too. */
  readonly seed?: string;
}

export interface ChosenTargets {
  /** In the order they came. */
  readonly targets: readonly BalancerTarget[];
  readonly problems: readonly Problem[];
}

export function chooseTargets(targets: readonly BalancerTarget[], rules: TargetRules): ChosenTargets {
  const asked = targets.filter((target) => isWanted(target, rules));
  // Pods come back sooner than a cloud adds targets: without any endpoint every node stays one, as health checks allow.
  const hasEndpoint = rules.policy !== "endpoints" || asked.some(({ draining }) => !draining);
  const wanted = hasEndpoint ? asked : targets;
  const limit = limitOf(rules);
  const { seed = "" } = rules;
  const staying = wanted.filter(({ draining }) => !draining);
  const chosen = new Set(spreadOverZones(staying, limit, seed));
  // What drains takes only the room that is left: a balancer with fewer targets than it could have helps nobody.
  const room = Math.max(0, limit - chosen.size);
  const leaving = inRendezvousOrder(
    wanted.filter(({ draining }) => draining),
    ({ node }) => node,
    seed,
  );
  for (const target of leaving.slice(0, room)) chosen.add(target);
  return {
    targets: wanted.filter((target) => chosen.has(target)),
    problems: [
      ...withoutSelector(rules),
      ...nothingLeft(targets, staying, rules),
      ...(hasEndpoint || staying.length === 0 ? [] : [withoutEndpoint(staying.length)]),
      ...limited(staying.length, rules),
    ],
  };
}

function isWanted(
  { node, labels }: BalancerTarget,
  { policy, selector, endpointsNodes }: TargetRules,
): boolean {
  if (policy === "selector") return selector?.matches(labels) ?? true;
  return policy !== "endpoints" || (endpointsNodes?.has(node) ?? true);
}

/**
 * The first of every zone, then the second of every zone, and so on until the limit. In a zone the hash of the name
 * decides, so that one node more or less brings at most one in and puts at most one out.
 */
function spreadOverZones(
  targets: readonly BalancerTarget[],
  limit: number,
  seed: string,
): readonly BalancerTarget[] {
  if (targets.length <= limit) return targets;
  const zones = new Map<string, BalancerTarget[]>();
  for (const target of inRendezvousOrder(targets, ({ node }) => node, seed)) {
    const zone = target.labels[labelPairs.zone.current] ?? "";
    const members = zones.get(zone);
    if (members === undefined) zones.set(zone, [target]);
    else members.push(target);
  }
  const ordered = [...zones.values()];
  const deepest = Math.max(...ordered.map(({ length }) => length));
  const inTurn: BalancerTarget[] = [];
  for (let rank = 0; rank < deepest && inTurn.length < limit; rank++) {
    for (const members of ordered) inTurn.push(...members.slice(rank, rank + 1));
  }
  return inTurn.slice(0, limit);
}

function withoutSelector({ policy, selector }: TargetRules): readonly Problem[] {
  return policy !== "selector" || selector !== undefined
    ? []
    : [
        warning(
          "MissingSelector",
          "Targets are to be chosen by labels, but no selector says by which: every node is taken.",
        ),
      ];
}

function withoutEndpoint(count: number): Problem {
  return warning(
    "NoEndpoints",
    `None of the ${count} nodes has a ready endpoint of this Service: all of them stay targets until one has.`,
  );
}

/** The first text is upstream's, to the letter: people have alerts on it. */
function nothingLeft(
  all: readonly BalancerTarget[],
  left: readonly BalancerTarget[],
  { policy, selector }: TargetRules,
): readonly Problem[] {
  if (left.length > 0) return [];
  // What drains is not available: upstream does not count it either.
  const count = all.filter(({ draining }) => !draining).length;
  if (count === 0) {
    return [warning("UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")];
  }
  if (policy !== "selector") return [];
  return [
    warning(
      "NoMatchingNode",
      `None of the ${count} nodes matches ${JSON.stringify(selector?.text ?? "")}, so the load balancer has no target; correct the selector or label nodes.`,
    ),
  ];
}

/** The lesser of what is wished and what is possible. */
export function limitOf({ limit, cloudLimit }: Pick<TargetRules, "limit" | "cloudLimit">): number {
  return Math.min(limit ?? Number.POSITIVE_INFINITY, cloudLimit ?? Number.POSITIVE_INFINITY);
}

/** A part that was asked for is no problem; that the cloud takes fewer than that is one. */
function limited(count: number, rules: TargetRules): readonly Problem[] {
  const most = limitOf(rules);
  const isAskedFor = rules.policy === "subset" && most === rules.limit;
  return count <= most || isAskedFor
    ? []
    : [
        warning(
          "TargetLimit",
          `The load balancer takes ${most} targets and there are ${count} nodes: ${most} of them were chosen, spread over the zones. Choose fewer nodes by labels, or a larger load balancer.`,
        ),
      ];
}

const warning = (reason: string, text: string): Problem => ({ severity: "warning", reason, text });

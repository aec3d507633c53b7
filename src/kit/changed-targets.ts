// The changes that a step makes to the targets of a load balancer, computed from the step's Nodes and the targets that the cloud shows.

import type { BalancerTarget } from "../provider/load-balancers.ts";
import type { TargetChanges } from "../provider/plan.ts";

/** The cloud's name of each target, with its Node. Plain data, so that a step can have it. */
export type NodesByTarget = Readonly<Record<string, string>>;

/** For clouds that identify a target by the key of its machine. */
export function nodesByMachine(targets: readonly BalancerTarget[]): NodesByTarget {
  return Object.fromEntries(targets.flatMap(({ machine, node }) => (machine ? [[machine.key, node]] : [])));
}

/** The value of `Step.targets`; undefined if the step changes no targets. */
export function changedTargets(
  wanted: NodesByTarget,
  observed: Iterable<string | number>,
): TargetChanges | undefined {
  const has = new Set(Array.from(observed, String));
  const adds = Object.entries(wanted).flatMap(([name, node]) => (has.has(name) ? [] : node));
  const removes = [...has].filter((name) => !Object.hasOwn(wanted, name));
  return adds.length + removes.length === 0 ? undefined : { adds, removes };
}

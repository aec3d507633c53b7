// The changes that a plan's steps make to the targets of a load balancer. Pure.

import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";

/** The possible names of a target on a load balancer. */
export const namesOf = ({ node, machine, addresses }: BalancerTarget): readonly string[] => [
  node,
  ...(machine === undefined ? [] : [machine.key]),
  ...addresses,
];

/** `added`: Nodes. `removed`: targets, by their name on the load balancer. */
export function changedTargets(steps: readonly Step[]) {
  const all = steps.flatMap(({ targets }) => targets ?? []);
  const removed: ReadonlySet<string> = new Set(all.flatMap(({ removes = [] }) => removes));
  const isRemoved = (target: BalancerTarget): boolean => namesOf(target).some((name) => removed.has(name));
  return { added: new Set(all.flatMap(({ adds = [] }) => adds)), removed, isRemoved };
}

/** The part of a step that changes only targets. */
export const targetsPartOf = (step: Step): Step | undefined =>
  step.targetsPart === "all" ? step : step.targetsPart;

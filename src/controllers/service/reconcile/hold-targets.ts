// Withholds the steps of a plan that change targets while the Nodes of the API server cannot be all Nodes of this cluster.

import { countOf } from "../../../core/text.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import type { LastingProblem } from "../deps.ts";
import { removalKind } from "../observed/balancer-mass-count.ts";
import { holdReleasably, type ReconcileContext, type ReconcileDeps } from "./context.ts";

export const targetRemovalHeld = "TargetRemovalHeld";

export interface HeldTargets {
  /** Those that leave the targets as they are. */
  readonly steps: readonly Step[];
  readonly problem: LastingProblem;
}

/** Undefined when all steps may be applied. */
export function holdTargets(
  deps: ReconcileDeps,
  { state }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
  steps: readonly Step[],
): HeldTargets | undefined {
  const { controller, desiredServices } = deps;
  const { balancers, nodes, removals } = controller;
  const count = observed === undefined ? 0 : (balancers.targetCount?.(observed) ?? 0);
  if (count === 0 || desiredServices.vanishedNodes.allowRemovalFrom(count)) return undefined;
  // Without this function, any step may remove targets.
  const others = steps.filter((step) => balancers.targetsOnly !== undefined && !balancers.targetsOnly(step));
  if (others.length === steps.length) return undefined;
  const problem: LastingProblem = {
    severity: "warning",
    reason: targetRemovalHeld,
    text: `The load balancer has ${countOf(count, "target")}, but the API server shows ${countOf(nodes.size, "Node")}, and no deletion of the others was seen. That is treated as another cluster or a restored etcd, so the load balancer keeps its targets. Check which cluster this is. To remove the targets anyway: ${removals.howToRelease(removalKind)}`,
    // The counts change while Nodes return.
    identity: "",
  };
  holdReleasably(deps, state, { reason: problem.reason, message: problem.text });
  return { steps: others, problem };
}

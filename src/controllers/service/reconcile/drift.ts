// Reports drift, and withholds the steps that --load-balancer-drift=report does not allow: everything that no change of a Service
// explains, except targets after a change of Nodes.

import { allowedSteps, type Difference, differenceOf } from "../desired/difference.ts";
import { driftRepaired, driftWithheld } from "../status/events.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import type { PlannedGroup } from "./steps.ts";

/** Reports the drift that is about to be repaired. */
export function reportRepair(
  { publisher }: Pick<ReconcileDeps, "publisher">,
  { members, steps, withheld, difference }: AllowedPlan,
): void {
  if (difference !== "drift" || steps.length === 0 || withheld.length > 0) return;
  for (const { service } of members) publisher.publishOnce(service, "drift", [driftRepaired(steps)]);
}

export interface AllowedPlan extends PlannedGroup {
  readonly difference: Difference;
  /** Drift that is reported and not repaired. */
  readonly withheld: PlannedGroup["steps"];
  /** The steps change nothing but targets. */
  readonly areOnlyTargets: boolean;
}

/** `drift only`: there is nothing that may be changed, and the status cannot be written either. */
export function withholdDrift(
  { controller, groupStates, publisher, standbyChanges }: ReconcileDeps,
  { state }: ReconcileContext,
  plan: PlannedGroup,
): AllowedPlan | "drift only" {
  const { members, observed, gone, fingerprint } = plan;
  const { balancers, settings } = controller;
  const hasStandbyChange = members.some(({ service }) => standbyChanges.has(service));
  const input = { state, members, observed, hasGone: gone.length > 0, fingerprint, hasStandbyChange };
  const difference = differenceOf(input);
  const targetsOnly = balancers.targetsOnly?.bind(balancers);
  const { steps, withheld } = allowedSteps(plan.steps, difference, settings.drift, targetsOnly);
  const areOnlyTargets = settings.drift === "report" && difference !== "desired";
  if (withheld.length > 0) {
    groupStates.commit(state, { kind: "driftReported", spec: fingerprint.spec });
    const event = driftWithheld(withheld, difference === "drift" || targetsOnly !== undefined);
    for (const { service } of members) publisher.publishOnce(service, "drift", [event]);
    const isUsable = observed?.state === "ready" && (difference === "drift" || targetsOnly !== undefined);
    if (steps.length === 0 && !isUsable) return "drift only";
  }
  return { ...plan, steps, difference, withheld, areOnlyTargets };
}

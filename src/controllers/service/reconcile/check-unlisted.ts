// Creates no further load balancer for a group while listings show none of those that Fairlead created for it.

import type { Step } from "../../../provider/plan.ts";
import type { Outcome } from "../../../runtime/workers.ts";
import { removalKind } from "../observed/mass-limit.ts";
import { createdButNotListed } from "../status/events.ts";
import { showProblems } from "../status/publisher.ts";
import type { PlannedGroup } from "./choose-steps.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { recheckListing } from "./limit-changes.ts";

/** Undefined when the plan may be applied. */
export async function checkUnlisted(
  deps: ReconcileDeps,
  { group, state, call }: ReconcileContext,
  plan: PlannedGroup,
): Promise<Outcome | undefined> {
  const { removals } = deps.controller;
  const { members, steps, fingerprint } = plan;
  if (!createsBalancer(plan) || removals.isReleased(removalKind, group)) return undefined;
  const { creations } = state.evidence;
  const count = creations.countOf(steps.map(whatOf), fingerprint.spec);
  if (count === undefined) return undefined;
  const names = steps.flatMap((step) => (creations.has(whatOf(step)) ? (step.on ?? []) : []));
  const problem = createdButNotListed({ count, names: [...new Set(names)] });
  for (const { service, problems } of members) {
    await showProblems(deps, "absence", service, [problem], call.signal, problems);
  }
  const hold = { reason: problem.reason, message: problem.text, isReleasable: true } as const;
  deps.groupStates.commit(state, { kind: "held", hold });
  removals.hold(removalKind, group, deps.groupStates.membersOf(group).join(", "));
  return recheckListing(deps, state, problem.reason);
}

/** What a step creates. The details may differ: a Node may have joined in between. */
export const whatOf = ({ do: what, on = "" }: Step): string => `${what} ${on}`;

export function createsBalancer({ observed, serving, steps }: PlannedGroup): boolean {
  return observed === undefined && serving.length > 0 && steps.length > 0;
}

// Creates no further load balancer for a group while listings show none of those that Fairlead created for it.

import type { Outcome } from "../../../runtime/workers.ts";
import { removalKind } from "../observed/mass-limit.ts";
import { createdButNotListed } from "../status/events.ts";
import { showProblems } from "../status/show-problems.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { recheckListing } from "./limit-changes.ts";
import type { PlannedGroup } from "./steps.ts";

/** Undefined when the plan may be applied. */
export async function checkUnlisted(
  deps: ReconcileDeps,
  { group, state, call }: ReconcileContext,
  plan: PlannedGroup,
): Promise<Outcome | undefined> {
  const { removals } = deps.controller;
  const { members, steps, fingerprint } = plan;
  if (!createsBalancer(plan) || removals.isReleased(removalKind, group)) return undefined;
  const unlisted = state.evidence.creations.unlisted(steps, fingerprint.spec);
  if (unlisted === undefined) return undefined;
  const problem = createdButNotListed(unlisted);
  for (const { service, problems } of members) {
    await showProblems(deps, "absence", service, [problem], call.signal, problems);
  }
  state.hold = { reason: problem.reason, message: problem.text, isReleasable: true };
  removals.hold(removalKind, group, deps.groupStates.membersOf(group).join(", "));
  return recheckListing(deps, state, problem.reason);
}

export function createsBalancer({ observed, serving, steps }: PlannedGroup): boolean {
  return observed === undefined && serving.length > 0 && steps.length > 0;
}

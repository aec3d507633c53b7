// The reconcile of one group, from top to bottom: guards, observe, desired, plan, apply, complete. Each stage returns what the
// next one needs, or how the reconcile ends. No stage waits: the next reconcile observes the effects of this one.

import { isFenced } from "../../../cloud/error-policies.ts";
import { maxWaitInWorker } from "../../../cloud/urgency.ts";
import { serviceUID } from "../../../core/brand.ts";
import { type Outcome, settled, waiting } from "../../../runtime/workers.ts";
import { removalKind } from "../observed/mass-limit.ts";
import { dropGroupState, dropServiceStates } from "../state/group-states.ts";
import { applyPlan } from "./apply-steps.ts";
import { checkUnlisted } from "./check-unlisted.ts";
import { planSteps, reportRepair, selectDesired, withholdDrift } from "./choose-steps.ts";
import { completeGroup, completeOrphan, updateStatuses } from "./complete.ts";
import { type ReconcileContext, type ReconcileDeps, servicesOf } from "./context.ts";
import { showFailure } from "./failure.ts";
import { checkGuards } from "./guards.ts";
import { checkMassLimit, recordChange, undecidedOwners, waitForDecision } from "./limit-changes.ts";
import { observeGroup } from "./observe.ts";

async function reconcileStages(deps: ReconcileDeps, context: ReconcileContext): Promise<Outcome> {
  // No Service has left this group, so what the cloud has for it is an orphan.
  if (context.services.length === 0 && context.state.pendingReleases.size === 0) return settled;
  const stopped = await checkGuards(deps, context);
  if (stopped !== undefined) return stopped;

  const observation = await observeGroup(deps, context);
  if (observation.kind !== "observed") return observation;
  const { balancer: observed, duplicates } = observation;

  const undecided = undecidedOwners(deps, context.state, observed);
  const desired = await selectDesired(deps, context, observed, undecided?.owners);
  if (desired.kind === "nothing" || desired.kind === "undecided") {
    return undecided === undefined ? settled : waitForDecision(deps, context, undecided);
  }
  if (desired.kind === "orphan") return completeOrphan(deps, context, desired.pendingReleases);
  if (desired.kind === "status only")
    return updateStatuses(deps, context, { members: desired.members, observed });
  if (desired.kind !== "plan") return desired;

  const { members, gone } = desired;
  const plan = await planSteps(deps, context, { members, gone, observed, duplicates });
  if (plan.kind !== "planned") return plan;

  const allowed = withholdDrift(deps, context, plan);
  if (allowed === "drift only") return settled;

  const held = checkMassLimit(deps, context, allowed) ?? (await checkUnlisted(deps, context, allowed));
  if (held !== undefined) return held;
  reportRepair(deps, allowed);
  const recorded = await recordChange(deps, context, allowed);
  if (recorded !== undefined) return recorded;

  const applied = await applyPlan(deps, context, allowed);
  if (applied !== undefined) return applied;

  const updated = await updateStatuses(deps, context, { ...allowed, completed: context.state.change });
  return updated.kind === "settled" ? completeGroup(deps, context, plan) : updated;
}

/** Reconciles the group unless another one with the same owner is being reconciled, and records how it ended. */
export async function reconcileGroup(
  deps: ReconcileDeps,
  group: string,
  signal: AbortSignal,
  stages = reconcileStages,
): Promise<Outcome> {
  const { groupStates, ownerLock, nodeSyncLatency } = deps;
  const services = servicesOf(deps, group);
  const owners = services.map(({ metadata }) => serviceUID(metadata.uid));
  if (!ownerLock.acquire(group, [...owners, ...groupStates.pendingReleasesOf(group)])) return waiting;
  const state = groupStates.of(group);
  const { hold } = state;
  groupStates.commit(state, { kind: "held", hold: undefined });
  const call = { signal, urgency: "user-change", maxWait: maxWaitInWorker } as const;
  const context = { group, services, state, call };
  try {
    const outcome = await stages(deps, context);
    if (outcome.kind === "waiting") groupStates.commit(state, { kind: "held", hold: state.hold ?? hold });
    else groupStates.commit(state, { kind: "succeeded" });
    if (outcome.kind === "settled") nodeSyncLatency.end(group);
    if (outcome.kind === "settled" && state.pendingReleases.size === 0) dropGroupState(group, groupStates);
    return outcome;
  } catch (error) {
    groupStates.commit(state, { kind: "held", hold: state.hold ?? hold });
    nodeSyncLatency.end(group);
    if (!signal.aborted && !isFenced(error)) await showFailure(deps, context, error);
    throw error;
  } finally {
    if (state.hold?.isReleasable !== true) deps.controller.removals.endHold(removalKind, group);
    dropServiceStates(owners, deps.controller.services, deps.serviceStates, groupStates);
    for (const next of ownerLock.release(group)) deps.enqueue(next);
  }
}

// Completes the reconcile of a group when nothing is left to do: records the released owners and the completed desired state, and
// removes Services without a load balancer from the group.

import { milliseconds, type ServiceUID } from "../../../core/brand.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import type { Member } from "../desired/member.ts";
import { isManaged } from "../predicates.ts";
import { dropGroupState, dropServiceStates } from "../state/drop-states.ts";
import { deletedWithoutService } from "../status/events.ts";
import { judgeAbsence, requestProof } from "./absence.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { undecidedOwners, waitForDecision } from "./limit-changes.ts";
import type { PlannedGroup } from "./steps.ts";

export function completeGroup(
  deps: ReconcileDeps,
  context: ReconcileContext,
  { members, observed, gone, fingerprint, steps }: PlannedGroup,
): Outcome {
  const { controller, groupStates, standbyChanges } = deps;
  const { note, clock } = controller;
  const { group, state } = context;
  const isAbsent = (uid: ServiceUID): boolean => judgeAbsence(deps, state, [uid]).kind === "certain";
  if (observed === undefined || members.length > 0) recordReleased(deps, group, gone.filter(isAbsent));
  if (members.length > 0) {
    groupStates.commit(state, { kind: "completed", desired: fingerprint });
    for (const { service } of members) standbyChanges.forget(service);
  } else {
    if (state.change !== undefined) note(deletedWithoutService, { balancer: group });
    groupStates.commit(state, { kind: "gone" });
  }
  // The load balancer is absent, and the plan needs none.
  if (observed === undefined)
    groupStates.commit(state, { kind: "ownersAbsent", owners: state.evidence.uids });
  dismissUnmanaged(deps, group);
  // First, because what vanished Services have is shown, so it would never count as absent.
  const undecided = undecidedOwners(deps, state, observed);
  const decision = undecided && waitForDecision(deps, context, undecided);
  // After the hold is known, because a new state takes it over.
  dropGroupState(group, groupStates);
  if (decision !== undefined) return decision;
  const absence = judgeAbsence(deps, state, [...state.pendingReleases]);
  if (members.length > 0 && absence.kind === "unproved") return requestProof(deps, state, absence);
  // A plan with steps is withheld drift: nothing was tried.
  if (steps.length === 0 && acceptTargets(deps, members)) {
    return requeue(milliseconds(0), "the status without the refused targets");
  }
  groupStates.commit(state, { kind: "listingDue", at: nextRetry(deps, members) });
  const changesAt = Math.min(...members.map(({ changeAt }) => changeAt ?? Number.POSITIVE_INFINITY));
  if (!Number.isFinite(changesAt)) return settled;
  return requeue(milliseconds(Math.max(0, changesAt - clock.now())), "targets to change");
}

/** When a refused target is tried again: what the cloud reported until then may be why it was refused. */
function nextRetry(
  { controller, serviceStates }: ReconcileDeps,
  members: readonly Member[],
): number | undefined {
  const now = controller.clock.monotonic();
  const times = members.flatMap(({ service }) => serviceStates.of(service).refused.retryAt(now) ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The cloud has all desired targets. Returns whether a Service still reports that one of them is refused. */
function acceptTargets({ controller, serviceStates }: ReconcileDeps, members: readonly Member[]): boolean {
  const now = controller.clock.monotonic();
  const states = members.map(({ service, desired }) => ({ state: serviceStates.of(service), desired }));
  const accepted = states.filter(({ state, desired }) => state.refused.includes(desired.targets));
  for (const { state, desired } of states) {
    serviceStates.commit(state, { kind: "targetsAccepted", targets: desired.targets, at: now });
  }
  return accepted.length > 0;
}

/** The load balancer stays in the cloud as an orphan. */
export function completeOrphan(
  deps: ReconcileDeps,
  { group }: ReconcileContext,
  pendingReleases: readonly ServiceUID[],
): Outcome {
  recordReleased(deps, group, pendingReleases);
  dropGroupState(group, deps.groupStates);
  return settled;
}

function recordReleased(deps: ReconcileDeps, group: string, owners: readonly ServiceUID[]): void {
  const { controller, serviceStates, groupStates } = deps;
  groupStates.released(group, owners);
  dropServiceStates(owners, controller.services, serviceStates, groupStates);
}

/** Uses the Services as Fairlead's own writes left them, since the watch does not report those. */
function dismissUnmanaged({ controller, groupStates }: ReconcileDeps, group: string): void {
  for (const key of groupStates.membersOf(group)) {
    const service = controller.services.get(key);
    if (service !== undefined && !isManaged(service)) groupStates.dismiss(key);
  }
}

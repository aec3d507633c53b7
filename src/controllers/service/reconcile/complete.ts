// Ends a reconcile once the cloud is as planned: writes addresses and conditions, removes the finalizers of Services that no longer
// need a load balancer, records what was released, and removes those Services from the group.

import { type Milliseconds, milliseconds, type ServiceUID, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { LoadBalancerIngress, Service } from "../../../kube/objects.ts";
import { jsonPatch } from "../../../kube/patches/patch.ts";
import { finalizerPatch, serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { ObservedLoadBalancer, Publication } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import { nextLateCheck } from "../../absence/creations.ts";
import { otherControllerOf } from "../annotations/annotations.ts";
import type { Member } from "../desired/members.ts";
import { finalizer, hasFinalizer, isForeignClass, isManaged } from "../predicates.ts";
import type { Change, GroupState } from "../state/group-state.ts";
import { dropGroupState, dropServiceStates } from "../state/group-states.ts";
import {
  addressChange,
  addressChanged,
  changeCompleted,
  deletedWithoutService,
  released,
  waitingFor,
} from "../status/events.ts";
import { finalConditions, reportRecovery, withOwnWrites } from "../status/service-reporter.ts";
import { addressesOf, ingressOf, isOtherIngress, isSameIngress } from "../status/status.ts";
import { checkDelay } from "./apply-steps.ts";
import type { PlannedGroup } from "./choose-steps.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import {
  checkMassRelease,
  judgeAbsence,
  requestProof,
  undecidedOwners,
  waitForDecision,
  waitForProof,
} from "./limit-changes.ts";

const pollInterval: Milliseconds = seconds(2);
const never = Number.POSITIVE_INFINITY;

interface Result {
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** The change that is now complete. */
  readonly completed?: Change | undefined;
  /** Drift that is reported and not repaired. */
  readonly withheld?: readonly Step[];
}

export async function updateStatuses(
  deps: ReconcileDeps,
  context: ReconcileContext,
  result: Result,
): Promise<Outcome> {
  const { members, completed, withheld = [] } = result;
  let last: Outcome = settled;
  // A waiting Service does not delay the others.
  for (const member of members) {
    const update = member.desired.ending === undefined ? updateStatus : removeFinalizer;
    const outcome = await update(deps, context, member, result);
    if (outcome.kind !== "settled") last = outcome;
  }
  if (last.kind !== "settled") return last;
  for (const { service, desired } of members) {
    reportRecovery(deps.reporter, service, withheld.length > 0 ? "drift" : undefined);
    if (desired.ending === undefined && (completed === "ensure" || completed === "update")) {
      deps.reporter.publish(service, changeCompleted(completed));
    }
  }
  return settled;
}

/** The next plan needs a newer listing. All groups that wait become due together, so one listing answers them all. */
function pollCloud(deps: ReconcileDeps, state: GroupState, waitingFor: string): Outcome {
  const now = deps.controller.clock.monotonic();
  state.outdate(now);
  return requeue(alignToGrid(now, checkDelay(deps, state, pollInterval)), waitingFor);
}

async function updateStatus(
  deps: ReconcileDeps,
  { state, call: { signal } }: ReconcileContext,
  { service, desired, problems }: Member,
  { observed, completed }: Result,
): Promise<Outcome> {
  const { controller, reporter, serviceStates } = deps;
  const { balancers, writes, clock } = controller;
  const publication = balancers.publish(desired, observed);
  if (publication.kind === "wait") {
    reporter.report(service, "waiting", [waitingFor(publication.waitingFor)]);
    return pollCloud(deps, state, publication.waitingFor);
  }
  const isForeign = publication.kind === "not-ours";
  const finalizing = isForeign ? undefined : finalizerPatch(service, finalizer, "present", "status");
  const finalized = finalizing && (await writes.patch(service, finalizing, "it has a load balancer", signal));
  if (finalized !== undefined) serviceStates.of(service).noteFinalizer(true);
  const current = withOwnWrites(deps.controller, finalized ?? service);
  const ingress = changedIngress(publication, current);
  const isWrittenAnyway = ingress !== undefined || completed !== undefined;
  const conditions = finalConditions(current, problems, clock.now(), isWrittenAnyway);
  const patch = serviceStatusPatch(defined({ service: current, ingress, conditions }));
  const before = addressesOf(current);
  const after = addressesOf({ status: { loadBalancer: { ingress: ingress ?? [] } } });
  const hasOther =
    ingress !== undefined && isOtherIngress(current.status.loadBalancer?.ingress ?? [], ingress);
  const named = hasOther ? addressChange(before, after) : "the load balancer has these addresses";
  const why = ingress === undefined ? "the conditions have changed" : named;
  if (patch !== undefined) await writes.patch(current, patch, why, signal);
  if (hasOther) reporter.publish(current, addressChanged(before, after));
  return settled;
}

/** Undefined when nothing must be written. */
function changedIngress(
  publication: Publication,
  { status }: Service,
): readonly LoadBalancerIngress[] | undefined {
  if (publication.kind !== "addresses") return undefined;
  const ingress = ingressOf(publication);
  return isSameIngress(status.loadBalancer?.ingress ?? [], ingress) ? undefined : ingress;
}

/** For a Service that no longer needs a load balancer: removes its finalizer once the cloud has none for it. */
async function removeFinalizer(
  deps: ReconcileDeps,
  context: ReconcileContext,
  { service, desired }: Member,
  { observed }: Result,
): Promise<Outcome> {
  const { group, state, call } = context;
  const { signal } = call;
  const { balancers, writes, clock } = deps.controller;
  const { uid } = desired.owner;
  if (observed?.owners.includes(uid) === true) {
    return pollCloud(deps, state, "the cloud to delete the load balancer");
  }
  const absence = judgeAbsence(deps, state, [uid]);
  if (absence.kind === "unproved") return waitForProof(deps, state, [service], absence);
  const held = await checkMassRelease(deps, context, service);
  if (held !== undefined) return held;
  // It moved, and its old group has not released it yet. Without the finalizer, that load balancer would become an orphan.
  if (isLeftElsewhere(deps, uid, group)) {
    const what = "another group to release the load balancer that the Service had there";
    deps.reporter.report(service, "waiting", [waitingFor(what)]);
    return pollCloud(deps, state, what);
  }
  // In one write: removing the last finalizer deletes the Service, and a second write would fail.
  const isForeign = isForeignClass(service) || balancers.publish(desired, observed).kind === "not-ours";
  const ingress = isForeign ? undefined : [];
  const conditions = finalConditions(service, [], clock.now(), true);
  const steps = [
    serviceStatusPatch(defined({ service, ingress, conditions })),
    finalizerPatch(service, finalizer, "absent", "status"),
  ].flatMap((patch) => (patch?.contentType === "application/json-patch+json" ? patch.body : []));
  if (steps.length === 0) return settled;
  // Its record ends with the Service.
  const name = deps.serviceStates.get(uid)?.releasedName;
  await writes.patch(
    service,
    jsonPatch(steps, "status"),
    "the Service no longer has a load balancer",
    signal,
  );
  state.noteAbsent([uid]);
  deps.evidenceUpdates.forgetFinalizer(uid);
  if (!hasFinalizer(service)) return settled;
  const isReleased = desired.ending === "release" || name !== undefined;
  deps.reporter.publish(service, isReleased ? released(name) : changeCompleted("delete"));
  return settled;
}

export function completeGroup(deps: ReconcileDeps, context: ReconcileContext, plan: PlannedGroup): Outcome {
  const { controller, groupStates, standbyChanges } = deps;
  const { note, clock } = controller;
  const { group, state } = context;
  const { members, observed, gone, fingerprint, steps } = plan;
  const isAbsent = (uid: ServiceUID): boolean => judgeAbsence(deps, state, [uid]).kind === "certain";
  if (observed === undefined || members.length > 0) recordReleased(deps, group, gone.filter(isAbsent));
  if (members.length > 0) {
    state.complete(fingerprint);
    for (const { service } of members) standbyChanges.forget(service);
  } else {
    if (state.change !== undefined) note(deletedWithoutService, { balancer: group });
    state.reset("gone");
  }
  // The load balancer is absent, and the plan needs none.
  if (observed === undefined) state.noteAbsent(state.evidence.uids);
  dismissUnmanaged(deps, group, observed);
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
  const lateCheck =
    state.uncertainCreationAt === undefined
      ? undefined
      : nextLateCheck(state.uncertainCreationAt, deps.freshListing.beganAt);
  const due = [lateCheck, nextRetry(deps, members)].flatMap((at) => at ?? []);
  state.setListingDue(due.length === 0 ? undefined : Math.min(...due));
  const changesAt = Math.min(...members.map(({ changeAt }) => changeAt ?? Number.POSITIVE_INFINITY));
  const delay = Math.min(changesAt - clock.now(), (lateCheck ?? never) - clock.monotonic());
  if (delay !== never) return requeue(milliseconds(Math.max(0, delay)), "the next change or listing");
  if (due.length === 0) restIfDone(deps, state, plan);
  return settled;
}

/** Only a plan without steps shows that the group is complete: steps were just applied, or are withheld. */
function restIfDone(
  { controller }: ReconcileDeps,
  state: GroupState,
  { members, gone, steps, listed }: PlannedGroup,
): void {
  if (listed === undefined || members.length === 0 || gone.length + steps.length > 0) return;
  // Where reads lag, the listing may repeat what was there before a step that was then lost.
  if (!state.recentSteps.isEmpty) return;
  state.noteRest({ listed, since: controller.clock.monotonic() });
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
    state.noteAccepted(desired.targets, now);
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

/** Whether another group has, or may have, a load balancer of this owner. */
function isLeftElsewhere(
  { groupStates, freshListing }: ReconcileDeps,
  uid: ServiceUID,
  group: string,
): boolean {
  return groupStates.isReleasePendingElsewhere(uid, group) || freshListing.index.isElsewhere(uid, group);
}

function recordReleased(deps: ReconcileDeps, group: string, owners: readonly ServiceUID[]): void {
  const { controller, serviceStates, groupStates } = deps;
  groupStates.released(group, owners);
  dropServiceStates(owners, controller.services, serviceStates, groupStates);
}

/** Uses the Services as Fairlead's own writes left them, since the watch does not report those. */
function dismissUnmanaged(
  { controller, groupStates }: ReconcileDeps,
  group: string,
  observed: ObservedLoadBalancer | undefined,
): void {
  for (const key of groupStates.membersOf(group)) {
    const service = controller.services.get(key);
    if (service === undefined) continue;
    const isOthers =
      observed === undefined && otherControllerOf(controller.annotations, service) !== undefined;
    if (isOthers || !isManaged(service)) groupStates.dismiss(key);
  }
}

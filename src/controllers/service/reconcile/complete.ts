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
import type { Change } from "../state/group-parts.ts";
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
import type { PlannedGroup, ReconcileContext, ReconcileDeps } from "./context.ts";
import {
  checkAbsence,
  checkMassRelease,
  judgeAbsence,
  requestProof,
  undecidedOwners,
  waitForDecision,
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

export async function updateStatuses(context: ReconcileContext, result: Result): Promise<Outcome> {
  const { members, completed, withheld = [] } = result;
  let last: Outcome = settled;
  // A waiting Service does not delay the others.
  for (const member of members) {
    const update = member.desired.ending === undefined ? updateStatus : removeFinalizer;
    const outcome = await update(context, member, result);
    if (outcome.kind !== "settled") last = outcome;
  }
  if (last.kind !== "settled") return last;
  for (const { service, desired } of members) {
    reportRecovery(context.reporter, service, withheld.length > 0 ? "drift" : undefined);
    if (desired.ending === undefined && (completed === "ensure" || completed === "update")) {
      context.reporter.publish(service, changeCompleted(completed));
    }
  }
  return settled;
}

/** The next plan needs a newer listing. All groups that wait become due together, so one listing answers them all. */
function pollCloud(context: ReconcileContext, waitingFor: string): Outcome {
  const now = context.controller.clock.monotonic();
  context.state.outdate(now);
  return requeue(alignToGrid(now, checkDelay(context, pollInterval)), waitingFor);
}

async function updateStatus(
  context: ReconcileContext,
  { service, desired, problems }: Member,
  { observed, completed }: Result,
): Promise<Outcome> {
  const { controller, reporter, serviceStates, call } = context;
  const { balancers, writes, clock } = controller;
  const publication = balancers.publish(desired, observed);
  if (publication.kind === "wait") {
    reporter.report(service, "waiting", [waitingFor(publication.waitingFor)]);
    return pollCloud(context, publication.waitingFor);
  }
  const isForeign = publication.kind === "not-ours";
  const finalizing = isForeign ? undefined : finalizerPatch(service, finalizer, "present", "status");
  const finalized =
    finalizing && (await writes.patch(service, finalizing, "it has a load balancer", call.signal));
  if (finalized !== undefined) serviceStates.of(service).noteFinalizer(true);
  const current = withOwnWrites(controller, finalized ?? service);
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
  if (patch !== undefined) await writes.patch(current, patch, why, call.signal);
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
  context: ReconcileContext,
  { service, desired }: Member,
  { observed }: Result,
): Promise<Outcome> {
  const { state, call, reporter, serviceStates } = context;
  const { balancers, writes, clock } = context.controller;
  const { uid } = desired.owner;
  if (observed?.owners.includes(uid) === true) {
    return pollCloud(context, "the cloud to delete the load balancer");
  }
  const unproved = checkAbsence(context, [service], [uid]) ?? (await checkMassRelease(context, service));
  if (unproved !== undefined) return unproved;
  // It moved, and its old group has not released it yet. Without the finalizer, that load balancer would become an orphan.
  if (isLeftElsewhere(context, uid)) {
    const what = "another group to release the load balancer that the Service had there";
    reporter.report(service, "waiting", [waitingFor(what)]);
    return pollCloud(context, what);
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
  const name = serviceStates.get(uid)?.releasedName;
  const why = "the Service no longer has a load balancer";
  await writes.patch(service, jsonPatch(steps, "status"), why, call.signal);
  state.noteAbsent([uid]);
  context.evidenceUpdates.forgetFinalizer(uid);
  if (!hasFinalizer(service)) return settled;
  const isReleased = desired.ending === "release" || name !== undefined;
  reporter.publish(service, isReleased ? released(name) : changeCompleted("delete"));
  return settled;
}

export function completeGroup(context: ReconcileContext, plan: PlannedGroup): Outcome {
  const { controller, groupStates, standbyChanges, group, state } = context;
  const { note, clock } = controller;
  const { members, observed, gone, fingerprint, withheld } = plan;
  const isAbsent = (uid: ServiceUID): boolean => judgeAbsence(context, [uid]).kind === "certain";
  if (observed === undefined || members.length > 0) recordReleased(context, gone.filter(isAbsent));
  if (members.length > 0) {
    state.complete(fingerprint);
    for (const { service } of members) standbyChanges.forget(service);
  } else {
    if (state.change !== undefined) note(deletedWithoutService, { balancer: group });
    state.reset("gone");
  }
  // The load balancer is absent, and the plan needs none.
  if (observed === undefined) state.noteAbsent(state.evidence.uids);
  dismissUnmanaged(context, observed);
  // First, because what vanished Services have is shown, so it would never count as absent.
  const undecided = undecidedOwners(context, observed);
  const decision = undecided && waitForDecision(context, undecided);
  // After the hold is known, because a new state takes it over.
  groupStates.drop(group);
  if (decision !== undefined) return decision;
  const absence = judgeAbsence(context, [...state.pendingReleases]);
  if (members.length > 0 && absence.kind === "unproved") return requestProof(context, absence);
  if (withheld.length === 0 && acceptTargets(context, members)) {
    return requeue(milliseconds(0), "the status without the refused targets");
  }
  const lateCheck =
    state.uncertainCreationAt === undefined
      ? undefined
      : nextLateCheck(state.uncertainCreationAt, context.freshListing.beganAt);
  const due = [lateCheck, nextRetry(context, members)].flatMap((at) => at ?? []);
  state.setListingDue(due.length === 0 ? undefined : Math.min(...due));
  const changesAt = Math.min(...members.map(({ changeAt }) => changeAt ?? never));
  const delay = Math.min(changesAt - clock.now(), (lateCheck ?? never) - clock.monotonic());
  if (delay !== never) return requeue(milliseconds(Math.max(0, delay)), "the next change or listing");
  if (due.length === 0) restIfDone(context, plan);
  return settled;
}

/** Withheld steps show that the group is not complete. */
function restIfDone(
  { controller, state }: ReconcileContext,
  { members, gone, withheld, listed }: PlannedGroup,
): void {
  if (listed === undefined || members.length === 0 || gone.length + withheld.length > 0) return;
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
  const accepted = members.filter(({ service, desired: { targets } }) =>
    serviceStates.of(service).noteAccepted(targets, now),
  );
  return accepted.length > 0;
}

/** The load balancer stays in the cloud as an orphan. */
export function completeOrphan(context: ReconcileContext, pendingReleases: readonly ServiceUID[]): Outcome {
  recordReleased(context, pendingReleases);
  context.groupStates.drop(context.group);
  return settled;
}

/** Whether another group has, or may have, a load balancer of this owner. */
function isLeftElsewhere({ groupStates, freshListing, group }: ReconcileContext, uid: ServiceUID): boolean {
  return groupStates.isReleasePendingElsewhere(uid, group) || freshListing.index.isElsewhere(uid, group);
}

function recordReleased(
  { controller, groupStates, group }: ReconcileContext,
  owners: readonly ServiceUID[],
): void {
  groupStates.noteReleased(group, owners);
  groupStates.dropServices(owners, controller.services);
}

/** Uses the Services as Fairlead's own writes left them, since the watch does not report those. */
function dismissUnmanaged(
  { controller, groupStates, group }: ReconcileContext,
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

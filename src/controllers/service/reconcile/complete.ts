// Ends a reconcile once the cloud matches the plan: writes addresses and conditions, removes the finalizer of a Service
// that no longer needs a load balancer, and ends its record.

import { type Milliseconds, milliseconds, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { LoadBalancerIngress, Service } from "../../../kube/objects.ts";
import { finalizerPatch } from "../../../kube/patches/finalizer-patch.ts";
import { jsonPatch } from "../../../kube/patches/patch.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { ObservedLoadBalancer, Publication } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import { lateEffect } from "../../kernel/creations.ts";
import { otherControllerOf } from "../annotations/annotations.ts";
import type { Member } from "../desired/member.ts";
import { defaultLoadBalancerName } from "../desired/to-desired.ts";
import { isForeignClass, isManaged, ownFinalizers } from "../predicates.ts";
import { finalizerFor } from "../served-classes.ts";
import type { ChangeKind } from "../state/record-parts.ts";
import { finalConditions, reportRecovery, withOwnWrites } from "../status/service-reporter.ts";
import { addressesOf, ingressOf, isOtherIngress, isSameIngress } from "../status/status.ts";
import {
  addressChange,
  addressChanged,
  changeCompleted,
  deletedWithoutService,
  left,
  released,
  waitingFor,
} from "../texts.ts";
import { checkAbsence, checkRelease } from "./allow.ts";
import { checkDelay } from "./apply.ts";
import type { PlannedChange, ReconcileContext } from "./context.ts";
import { noteHealth } from "./health.ts";

const pollInterval: Milliseconds = seconds(2);
const never = Number.POSITIVE_INFINITY;

interface Result {
  readonly member: Member | undefined;
  readonly observed: ObservedLoadBalancer | undefined;
  readonly completed?: ChangeKind | undefined;
  /** Drift that is reported but not repaired. */
  readonly withheld?: readonly Step[];
}

/** Writes the cloud's state to the Service. */
export async function updateStatus(context: ReconcileContext, result: Result): Promise<Outcome> {
  const { member, completed, withheld = [] } = result;
  if (member === undefined) return settled;
  const { service, desired } = member;
  const isServed = desired.ending === undefined;
  const outcome = await (isServed ? publish : removeFinalizer)(context, member, result);
  if (outcome.kind !== "settled") return outcome;
  reportRecovery(context.reporter, service, withheld.length > 0 ? "drift" : undefined);
  if (isServed && (completed === "ensure" || completed === "update")) {
    context.reporter.publish(service, changeCompleted(completed));
  }
  return settled;
}

/** The next plan needs a newer listing. All waiting Services become due together, so one listing serves them all. */
function pollCloud(context: ReconcileContext, waitingFor: string): Outcome {
  const now = context.controller.clock.monotonic();
  context.state.outdate(now);
  return requeue(alignToGrid(now, checkDelay(context, pollInterval)), waitingFor);
}

async function publish(
  context: ReconcileContext,
  { service, desired, problems }: Member,
  { observed, completed }: Result,
): Promise<Outcome> {
  const { controller, reporter, state, call } = context;
  const { balancers, writes, clock, classes } = controller;
  const publication = balancers.publish(desired, observed);
  if (publication.kind === "wait") {
    reporter.report(service, "waiting", [waitingFor(publication.waitingFor)]);
    return pollCloud(context, publication.waitingFor);
  }
  const isForeign = publication.kind === "not-ours";
  const finalizing = isForeign
    ? undefined
    : finalizerPatch(service, finalizerFor(service, classes), "present", "status");
  const finalized =
    finalizing && (await writes.patch(service, finalizing, "it has a load balancer", call.signal));
  if (finalized !== undefined) state.noteFinalizer(true);
  const current = withOwnWrites(controller, finalized ?? service);
  const ingress = changedIngress(publication, current);
  const isWrittenAnyway = ingress !== undefined || completed !== undefined;
  const unhealthy = noteHealth(context, { service: current, desired }, observed);
  const conditions = finalConditions(current, problems, clock.now(), isWrittenAnyway, unhealthy);
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

/** Undefined if nothing must be written. */
function changedIngress(
  publication: Publication,
  { status }: Service,
): readonly LoadBalancerIngress[] | undefined {
  if (publication.kind !== "addresses") return undefined;
  const ingress = ingressOf(publication);
  return isSameIngress(status.loadBalancer?.ingress ?? [], ingress) ? undefined : ingress;
}

/** Removes the finalizer of a Service that no longer needs a load balancer, once the cloud has none for it. */
async function removeFinalizer(
  context: ReconcileContext,
  { service, desired }: Member,
  { observed }: Result,
): Promise<Outcome> {
  const { state, call, reporter } = context;
  const { balancers, writes, clock, classes } = context.controller;
  if (observed?.owners.includes(state.uid) === true) {
    return pollCloud(context, "the cloud to delete the load balancer");
  }
  const unproved = checkAbsence(context, service) ?? (await checkRelease(context, service));
  if (unproved !== undefined) return unproved;
  // Written together, because removing the last finalizer deletes the Service, and a second write would fail.
  const isForeign =
    isForeignClass(service, classes) || balancers.publish(desired, observed).kind === "not-ours";
  const ingress = isForeign ? undefined : [];
  const conditions = finalConditions(service, [], clock.now(), true, []);
  const finalizers = ownFinalizers(service, classes);
  const steps = [
    serviceStatusPatch(defined({ service, ingress, conditions })),
    finalizerPatch(service, finalizers, "absent", "status"),
  ].flatMap((patch) => (patch?.contentType === "application/json-patch+json" ? patch.body : []));
  if (steps.length === 0) return settled;
  const { released: names, isLeft } = state;
  const why = "the Service no longer has a load balancer";
  await writes.patch(service, jsonPatch(steps, "status"), why, call.signal);
  state.evidence.forget();
  context.evidenceUpdates.forgetFinalizer(state.uid);
  if (finalizers.length === 0) return settled;
  const isReleased = desired.ending === "release" || names.length > 0;
  const ended = isReleased ? released(names) : changeCompleted("delete");
  reporter.publish(service, isLeft ? left(names) : ended);
  return settled;
}

export function complete(context: ReconcileContext, plan: PlannedChange): Outcome {
  const { controller, history, state } = context;
  const { clock } = controller;
  const { member, observed, fingerprint, withheld } = plan;
  if (member === undefined || fingerprint === undefined) return completeRemoval(context, observed);
  state.complete(fingerprint);
  history.standbyChanges.forget(member.service);
  // The load balancer is absent, and the plan requires none.
  if (observed === undefined) state.evidence.forget();
  if (isDone(context, observed)) {
    context.records.dismiss(state.uid);
    return settled;
  }
  if (withheld.length === 0 && state.noteAccepted(member.desired.targets, clock.monotonic()))
    return requeue(milliseconds(0), "the status without the refused targets");
  const sentAt = state.uncertainCreationAt ?? Number.NEGATIVE_INFINITY;
  const checkAt = sentAt + lateEffect > context.inventory.beganAt ? sentAt + lateEffect : never;
  const delay = Math.min((member.changeAt ?? never) - clock.now(), checkAt - clock.monotonic());
  if (delay !== never) return requeue(milliseconds(Math.max(0, delay)), "the next change or listing");
  // Withheld steps show that the load balancer is not complete.
  const isComplete = withheld.length === 0 && state.session.refused.retryAt(clock.monotonic()) === undefined;
  if (isComplete) state.noteRest(clock.monotonic());
  return settled;
}

/** The Service is gone. */
function completeRemoval(context: ReconcileContext, observed: ObservedLoadBalancer | undefined): Outcome {
  const { controller, state } = context;
  if (observed !== undefined) return settled;
  if (state.session.change !== undefined)
    controller.note(deletedWithoutService, { balancer: defaultLoadBalancerName(state.uid) });
  return endRecord(context);
}

/** The Service is gone, and no cleanup is left. A remaining cloud object becomes an orphan. */
export function endRecord({ records, state }: ReconcileContext): Outcome {
  // The Service may have returned since the reconcile began, and is then in the queue.
  if (state.phase === "leaving") records.dismiss(state.uid);
  return settled;
}

/** Nothing is left to do for the Service. Considers Fairlead's own writes, because the watch does not report them. */
function isDone(
  { controller, state }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): boolean {
  const service = controller.services.get(state.key);
  if (service?.metadata.uid !== state.uid) return false;
  const isOthers = observed === undefined && otherControllerOf(controller.annotations, service) !== undefined;
  return isOthers || !isManaged(service, controller.classes);
}

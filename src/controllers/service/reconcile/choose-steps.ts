// Turns the observation into steps: computes the desired state of the Service, calls the provider, reports its problems, and
// withholds steps that --load-balancer-drift=report forbids.

import { needsOf, type Parts } from "../../../cloud/inventory/balancer-observation.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Plan, RefusedTarget, Step } from "../../../provider/plan.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import { turn } from "../../../runtime/turns.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import type { Desired } from "../deps.ts";
import { allowedSteps, differenceOf, fingerprintOf } from "../desired/difference.ts";
import { hasErrors, isRejected, type Member } from "../desired/member.ts";
import { withSharers } from "../desired/sharers.ts";
import { isHeldByOwnership, type OwnershipContext, withOwnership } from "../observe/ownership.ts";
import { isManaged } from "../predicates.ts";
import { showProblems } from "../status/service-reporter.ts";
import { addressesOf } from "../status/status.ts";
import { changedTargets } from "../targets/changed-targets.ts";
import { driftRepaired, driftWithheld } from "../texts.ts";
import { holdTargets } from "./allow.ts";
import type { PlanInput, PlannedChange, ReconcileContext, ReconcileDeps } from "./context.ts";

const marksRecheck: Milliseconds = minutes(5);
const machinesRecheck: Milliseconds = seconds(0.5);

export type Selection =
  /** Without a member, the Service is gone, and everything that belongs to it is removed. */
  | { readonly kind: "plan"; readonly member: Member | undefined }
  /** The load balancer must not change, but the Service's status is still written. */
  | { readonly kind: "status only"; readonly member: Member }
  /** The Service is gone, and its load balancer stays in the cloud. */
  | { readonly kind: "keep" };

export async function selectDesired(
  context: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): Promise<Selection | Outcome> {
  const { service, state, desiredServices } = context;
  if (service === undefined)
    return isKept(context, observed) ? { kind: "keep" } : { kind: "plan", member: undefined };
  const pause = turn(context.controller.clock);
  if (pause !== undefined) await pause;
  const member = withOwnership(desiredServices.of(service, observed), ownershipContext(context, observed));
  if (member.isAwaited) return waiting;
  const isHeld = isHeldByOwnership(member);
  if (isHeld && state.waitingSince === undefined) return recheckMarks(context);
  await showProblems(context, "annotations", service, member.problems);
  if (member.isOnHold || isRejected(member, observed)) return isHeld ? recheckMarks(context) : settled;
  if (!member.isBlocked) return { kind: "plan", member };
  return member.desired.ending === undefined ? { kind: "status only", member } : settled;
}

/**
 * Reports that the load balancer of the Service belongs to another cluster, and otherwise returns the Service. Used until the
 * absence of the Service's load balancer is proved: if this process never saw the load balancer, the mark is the best
 * explanation.
 */
export async function reportOtherCluster(context: ReconcileContext): Promise<Service | undefined> {
  const { service, state } = context;
  const ownership = ownershipContext(context, undefined);
  const isSuspect = state.evidence.isTrace && ownership.inventory.foreignOf(state.uid).length > 0;
  if (service === undefined || !isSuspect) return service;
  const member = withOwnership(context.desiredServices.of(service), ownership);
  if (!isHeldByOwnership(member)) return service;
  await showProblems(context, "annotations", service, member.problems);
  return undefined;
}

/**
 * Reports problems with the marks only from a listing that is newer than the Service. Then checks whether the marks were changed.
 */
function recheckMarks({ controller, state }: ReconcileContext): Outcome {
  const now = controller.clock.monotonic();
  const delay = state.waitingSince === undefined ? milliseconds(0) : alignToGrid(now, marksRecheck);
  state.beginWait(now);
  state.outdate(now);
  return requeue(delay, "the marks in the cloud to change");
}

function ownershipContext(
  { controller, inventory, state }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): OwnershipContext {
  return { controller, inventory, observed, isRemoving: state.session.change === "delete" };
}

/**
 * The load balancer of a vanished Service is kept because on-delete was invalid, the operator wants to decide, or its mark does
 * not identify the Service, so that the Service may have given it up.
 */
function isKept(context: ReconcileContext, observed: ObservedLoadBalancer | undefined): boolean {
  const { controller, state } = context;
  const isVanished = state.goneAt !== undefined && controller.settings.vanished === "keep";
  const isUncertain = observed?.owners.some((uid) => uid !== state.uid) === true;
  return isVanished || isUncertain || onDeleteOf(context) === "on hold";
}

/** Plans the removal of a vanished Service's load balancer. Undefined to delete it. */
function onDeleteOf({ controller, state }: ReconcileContext): Desired | "on hold" | undefined {
  const service = controller.services.get(state.key);
  const isNeeded = service?.metadata.uid === state.uid && isManaged(service, controller.classes);
  return isNeeded ? undefined : state.said.onDelete;
}

/** The parts of the load balancer that were read are insufficient for its plan. */
interface Unread {
  readonly kind: "unread";
  readonly needs: Parts;
}

export async function planSteps(
  context: ReconcileContext,
  input: PlanInput,
): Promise<PlannedChange | Unread | Outcome> {
  const { controller, inventory, state } = context;
  const { balancers } = controller;
  const { plan, fingerprint, isLeaving } = await planWithProvider(context, input);
  const needs = needsOf(plan, input.read);
  if (needs !== undefined) return { kind: "unread", needs };
  const { wait } = plan;
  if (wait?.isPrefetched === true) context.prefetch.noteWait();
  // A lookup that does not find the load balancer afterwards is a proof only if it was shown immediately before; otherwise it
  // may have been hidden all along. A listing costs more than a deletion where parts are read.
  const isRemoval = isLeaving && plan.steps.length > 0 && !controller.isObserving;
  if (isRemoval && balancers.observeAgain === undefined && !inventory.isJustListed(state.uid))
    return inventory.request(state.uid);
  // A load balancer that is being removed needs no targets.
  const held = isLeaving ? undefined : holdTargets(context, plan.steps);
  const problems = [...(plan.problems ?? []), ...(held === undefined ? [] : [held.problem])];
  if (noteRefused(context, plan.refused)) {
    return requeue(milliseconds(0), "a plan without the refused targets");
  }
  const { member: before } = input;
  if (before !== undefined) await showProblems(context, "plan", before.service, problems, before.problems);
  const isRefused = hasErrors({ problems });
  if (isRefused && wait === undefined) return settled;
  const steps = isRefused ? [] : (held ?? plan).steps;
  const member = before && { ...before, problems: [...before.problems, ...problems] };
  const areTargetsHeld = held !== undefined;
  return withholdDrift(context, { ...input, member, steps, fingerprint, isLeaving, wait, areTargetsHeld });
}

async function planWithProvider(
  context: ReconcileContext,
  { member, observed }: PlanInput,
): Promise<{ readonly plan: Plan<Step> } & Pick<PlannedChange, "fingerprint" | "isLeaving">> {
  const { call, desiredServices, prefetch, state } = context;
  const { balancers } = context.controller;
  // Computed without the observation, because only changes of the Service and the Nodes count.
  const alone = member && desiredServices.of(member.service).desired;
  const prefetched = await prefetch.current(alone, state.changedInClusterAt, call);
  const pause = turn(context.controller.clock);
  if (pause !== undefined) await pause;
  const own = member === undefined ? releasedDesired(context, observed) : member.desired;
  const desired = own && withSharers(own, observed, context);
  const shown = balancers.plan(desired, observed, prefetched);
  const kept = member?.gone.filter(changedTargets(shown.steps).isRemoved) ?? [];
  const withKept = (one: Desired): Desired =>
    kept.length === 0 ? one : { ...one, targets: [...one.targets, ...kept] };
  const plan =
    desired === undefined || kept.length === 0
      ? shown
      : balancers.plan(withKept(desired), observed, prefetched);
  // Includes the kept targets: when their Node is deleted, the targets change without drift.
  const fingerprint = alone && fingerprintOf(withKept(alone));
  return { plan, fingerprint, isLeaving: desired === undefined || desired.ending !== undefined };
}

/** The last desired state of a Service that disappeared with on-delete "release". Undefined to delete everything. */
function releasedDesired(
  context: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): Desired | undefined {
  const onDelete = observed === undefined ? undefined : onDeleteOf(context);
  return onDelete === "on hold" ? undefined : onDelete;
}

/** Reports the drift that is about to be repaired. */
export function reportRepair(
  { reporter }: Pick<ReconcileDeps, "reporter">,
  { member, steps, withheld, difference, isLost }: PlannedChange,
): void {
  const isDrift = isLost || difference === "drift";
  if (member === undefined || !isDrift || steps.length === 0 || withheld.length > 0) return;
  reporter.report(member.service, "drift", [driftRepaired(steps, isLost)]);
}

/**
 * True if the plan adds targets that the cloud may have removed with their machines. Either the load balancer lost the targets
 * after it was complete, or the cloud has not answered about these machines since the start. Requests the missing answers.
 */
function awaitsMachines(
  { controller: { nodes, clock, machines }, state }: Pick<ReconcileContext, "controller" | "state">,
  { member, observed, steps }: Pick<PlannedChange, "member" | "observed" | "steps">,
): boolean {
  const { added, isRemoved } = changedTargets(steps);
  if (observed === undefined || added.size === 0) return false;
  const { lastCompleted } = state.session;
  const had = lastCompleted && new Set(lastCompleted.list.map(({ node }) => node));
  const lost = member?.desired.targets.filter(
    (target) => added.has(target.node) && had?.has(target.node) !== false && !isRemoved(target),
  );
  const unproved = lost?.filter(({ node: name, machine }) => {
    const node = nodes.get(name);
    if (node === undefined || machine === undefined) return false;
    const answer = machines.check(node);
    if (answer.kind === "foreign" || (had === undefined && answer.kind === "exists")) return false;
    const since = state.lossSeenAt(clock.monotonic());
    if (answer.kind !== "unknown" && answer.asOf >= since) return answer.kind === "gone";
    machines.request(node, since);
    // While requests fail, no answer is expected soon, and other changes must not wait.
    return !machines.isFailing(node);
  });
  return unproved !== undefined && unproved.length > 0;
}

/** Settled: nothing may be changed, and the status cannot be written either. */
function withholdDrift(
  { controller, reporter, history, state }: ReconcileContext,
  plan: Omit<PlannedChange, "kind" | "withheld" | "difference" | "areOnlyTargets" | "isLost">,
): PlannedChange | Outcome {
  const { member, observed, fingerprint } = plan;
  const { settings } = controller;
  const hasStandbyChange = member !== undefined && history.standbyChanges.has(member.service);
  const difference = differenceOf(state, plan, hasStandbyChange);
  if (awaitsMachines({ controller, state }, plan))
    return requeue(machinesRecheck, "answers about the machines of missing targets");
  const { steps, withheld } = allowedSteps(plan.steps, difference, settings.drift);
  const areOnlyTargets = settings.drift === "report" && difference !== "desired";
  // While a change is in progress, Fairlead may have removed the load balancer to replace it.
  const isServed = member?.desired.ending === undefined && member !== undefined;
  const isLost =
    observed === undefined &&
    state.session.change === undefined &&
    isServed &&
    addressesOf(member.service).length > 0;
  if (withheld.length > 0 && member !== undefined && fingerprint !== undefined) {
    state.noteDrift(fingerprint.spec);
    const isWhole = withheld.some(({ targets, targetsPart }) => targets && targetsPart === undefined);
    const canChangeTargets = difference === "drift" || observed === undefined || !isWhole;
    reporter.report(member.service, "drift", [driftWithheld(withheld, { canChangeTargets, isLost })]);
    const isUsable = observed?.state === "ready" && canChangeTargets;
    if (steps.length === 0 && !isUsable) return settled;
  }
  return { ...plan, kind: "planned", steps, difference, withheld, areOnlyTargets, isLost };
}

/** Returns whether the rejection changed the desired targets. */
export function noteRefused(
  { controller: { clock }, desiredServices, state }: ReconcileContext,
  refused: readonly RefusedTarget[] = [],
): boolean {
  let isNews = false;
  for (const { node, text, retryAfter } of refused) {
    const target = desiredServices.targets.candidate(node);
    // Several steps of one plan may report the same target.
    if (target !== undefined && state.noteRefusal(target, text, clock.monotonic(), retryAfter)) isNews = true;
  }
  return isNews;
}

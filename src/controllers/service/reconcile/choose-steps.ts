// From what is observed to the steps of a group: computes the desired state of its Services, selects those that are planned, calls
// the provider, reports the problems that it finds, and withholds the steps that --load-balancer-drift=report does not allow.

import { withoutRecent } from "../../../cloud/reads-lag.ts";
import {
  type Milliseconds,
  milliseconds,
  minutes,
  type ServiceUID,
  seconds,
  serviceUID,
} from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Plan, RefusedTarget, Step } from "../../../provider/plan.ts";
import { alignToGrid } from "../../../runtime/backoff.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import type { Desired } from "../deps.ts";
import { allowedSteps, differenceOf, fingerprintOf, hashStep, textOfDesired } from "../desired/difference.ts";
import { hasErrors, type Member, type Selection, selectMembers } from "../desired/members.ts";
import { nextReading, type Reading } from "../observed/fresh-listing.ts";
import {
  isHeldByOwnership,
  isStillUsed,
  type OwnershipContext,
  withOwnership,
} from "../observed/ownership.ts";
import { isManaged } from "../predicates.ts";
import { driftRepaired, driftWithheld } from "../status/events.ts";
import { showProblems } from "../status/service-reporter.ts";
import { addressesOf } from "../status/status.ts";
import type { PlanInput, PlannedGroup, ReconcileContext, ReconcileDeps } from "./context.ts";
import { holdTargets } from "./limit-changes.ts";

const marksRecheck: Milliseconds = minutes(5);
const machinesRecheck: Milliseconds = seconds(0.5);

export async function selectDesired(
  context: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
  undecided: readonly ServiceUID[] = [],
): Promise<Selection | Outcome> {
  const { services, state, desiredServices } = context;
  const ownership = ownershipContext(context, observed);
  const all = services.map((service) => withOwnership(desiredServices.of(service, observed), ownership));
  if (all.some(({ isAwaited }) => isAwaited)) return waiting;
  const isHeld = all.some(isHeldByOwnership);
  if (isHeld && state.waitingSince === undefined) return recheckMarks(context);
  for (const { service, problems } of all) {
    await showProblems(context, "annotations", service, problems);
  }
  const selection = selectMembers({
    all,
    observed,
    pendingReleases: [...state.pendingReleases],
    isOnHold: (uid) => isKept(context, uid),
    isUndecided: (uid) => undecided.includes(uid),
    isStillUsed: (gone) => isStillUsed(context.controller, observed, gone),
  });
  return selection.kind === "nothing" && isHeld ? recheckMarks(context) : selection;
}

/**
 * Reports the Services whose load balancer belongs to another cluster, and returns the others. For use while it is not proved that those
 * of the group are absent: if this process never saw one of the Service, the mark explains best what is missing.
 */
export async function reportOtherCluster(context: ReconcileContext): Promise<readonly Service[]> {
  const { services, state } = context;
  const ownership = ownershipContext(context, undefined);
  const isSuspect = (uid: ServiceUID): boolean =>
    state.evidence.get(uid)?.isTrace === true && ownership.index.foreignOf(uid).length > 0;
  const others: Service[] = [];
  for (const service of services) {
    const member = isSuspect(serviceUID(service.metadata.uid))
      ? withOwnership(context.desiredServices.of(service), ownership)
      : undefined;
    if (member === undefined || !isHeldByOwnership(member)) others.push(service);
    else await showProblems(context, "annotations", service, member.problems);
  }
  return others;
}

/** Reports what the marks say only from a listing that is newer than the Service. Then checks whether they were changed. */
function recheckMarks({ controller, state }: ReconcileContext): Outcome {
  const now = controller.clock.monotonic();
  const delay = state.waitingSince === undefined ? milliseconds(0) : alignToGrid(now, marksRecheck);
  state.beginWait(now);
  state.outdate(now);
  return requeue(delay, "the marks in the cloud to change");
}

function ownershipContext(
  { controller, freshListing, state: { change } }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): OwnershipContext {
  return { controller, index: freshListing.index, observed, isRemoving: change === "delete" };
}

/** The load balancer of a Service that is gone stays: on-delete was invalid, or the operator wants to decide. */
function isKept(context: ReconcileContext, uid: ServiceUID): boolean {
  const isVanished = context.state.goneServices.has(uid) && context.controller.settings.vanished === "keep";
  return isVanished || onDeleteOf(context, uid) === "on hold";
}

/** How to remove the load balancer of a Service that is gone. Undefined: delete it, also when the Service has only moved. */
function onDeleteOf(
  { controller, serviceStates }: Pick<ReconcileDeps, "controller" | "serviceStates">,
  uid: ServiceUID,
): Desired | "on hold" | undefined {
  const state = serviceStates.get(uid);
  const service = state && controller.services.get(state.key);
  const hasMoved = service?.metadata.uid === uid && isManaged(service);
  return hasMoved ? undefined : state?.onDelete;
}

/** What was read of the load balancer is not enough for its plan. */
interface Unread {
  readonly kind: "unread";
  readonly reading: Reading;
}

export async function planSteps(
  context: ReconcileContext,
  input: PlanInput,
): Promise<PlannedGroup | Unread | Outcome> {
  const { controller, freshListing, state } = context;
  const { plan, fingerprint, serving, leaving } = await planWithProvider(context, input);
  const reading = nextReading(plan, input.read);
  if (reading !== undefined) return { kind: "unread", reading };
  const { wait } = plan;
  if (wait?.isPrefetched === true) context.prefetch.noteWait();
  const isRemoval = leaving.length > 0 && plan.steps.length > 0 && !controller.isObserving;
  if (isRemoval && input.read === "after listing" && !freshListing.showsWhatIsRemoved(state))
    return freshListing.request(state);
  // What leaves needs no targets.
  const held = leaving.length > 0 ? undefined : holdTargets(context, input.observed, plan.steps);
  const problems = [...(plan.problems ?? []), ...(held === undefined ? [] : [held.problem])];
  const services = input.members.map(({ service }) => service);
  if (noteRefused(context, services, plan.refused)) {
    return requeue(milliseconds(0), "a plan without the refused targets");
  }
  for (const { service, problems: earlier } of input.members) {
    await showProblems(context, "plan", service, problems, earlier);
  }
  const isRefused = hasErrors({ problems });
  if (isRefused && wait === undefined) return settled;
  const steps = isRefused ? [] : (held ?? plan).steps;
  const members = input.members.map((one) => ({ ...one, problems: [...one.problems, ...problems] }));
  const areTargetsHeld = held !== undefined;
  return withholdDrift(context, {
    ...input,
    members,
    steps,
    fingerprint,
    serving,
    leaving,
    wait,
    areTargetsHeld,
  });
}

async function planWithProvider(
  context: ReconcileContext,
  { members, observed, gone }: PlanInput,
): Promise<{ readonly plan: Plan<Step> } & Pick<PlannedGroup, "fingerprint" | "serving" | "leaving">> {
  const { state, call, desiredServices, prefetch } = context;
  const { balancers } = context.controller;
  // Without what is observed: only changes of the Service and the Nodes count.
  const groupDesired = members.map(({ service }) => desiredServices.of(service).desired);
  const fingerprint = fingerprintOf(groupDesired);
  const prefetched = await prefetch.current(groupDesired, () => allDesired(context), call);
  const released = observed === undefined ? [] : gone.flatMap((uid) => releasedDesired(context, uid));
  const isReleased = new Set(released.map(({ owner }) => owner.uid));
  const desired = [...members.map((member) => desiredFor(member, observed)), ...released];
  const orphans = gone.filter((uid) => !isReleased.has(uid));
  const planned = balancers.plan(desired, observed, { prefetched, orphans });
  const plan = withoutRecent(planned, state.recentSteps, balancers, {
    hashOf: hashStep,
    desired: () => textOfDesired(fingerprint),
  });
  const serving = desired.flatMap(({ owner, ending }) => (ending === undefined ? owner.uid : []));
  const ending = desired.flatMap(({ owner, ending }) => (ending === undefined ? [] : owner.uid));
  return { plan, fingerprint, serving, leaving: [...ending, ...orphans] };
}

/** The last desired state of a Service that disappeared with on-delete "release". */
function releasedDesired(deps: ReconcileDeps, uid: ServiceUID): readonly Desired[] {
  const onDelete = onDeleteOf(deps, uid);
  return onDelete === undefined || onDelete === "on hold" ? [] : [onDelete];
}

/** Skips Services that the provider cannot read, because one of them must not block the others. */
function allDesired({ controller: { services }, desiredServices }: ReconcileDeps): readonly Desired[] {
  return services
    .list()
    .flatMap((service) => (isManaged(service) ? (desiredServices.tryOf(service)?.desired ?? []) : []));
}

/** To change an immutable setting, the load balancer is deleted first, and the next reconcile creates it. */
function desiredFor({ desired, recreate }: Member, observed: ObservedLoadBalancer | undefined): Desired {
  return recreate.length > 0 && observed !== undefined ? { ...desired, ending: "delete" } : desired;
}

/** Reports the drift that is about to be repaired. */
export function reportRepair(
  { reporter }: Pick<ReconcileDeps, "reporter">,
  { members, steps, withheld, difference, isLost }: PlannedGroup,
): void {
  if (!(isLost || difference === "drift") || steps.length === 0 || withheld.length > 0) return;
  for (const { service } of members) reporter.report(service, "drift", [driftRepaired(steps, isLost)]);
}

/**
 * Whether the load balancer may lack targets only because their machines are gone: it lost them after it was complete or, after a start,
 * the cloud has not answered about these machines yet. Requests the missing answers.
 */
function mayLackMachines(
  { controller, state }: Pick<ReconcileContext, "controller" | "state">,
  { members, observed }: Pick<PlannedGroup, "members" | "observed">,
): boolean {
  const { balancers, nodes, clock, machines } = controller;
  const targets = members.flatMap(({ desired }) => desired.targets);
  if (observed === undefined || (balancers.targetCount?.(observed) ?? 0) >= targets.length) return false;
  const had = state.lastCompleted && new Set(state.lastCompleted.lists.flat().map(({ node }) => node));
  const unproved = targets.filter((target) => {
    const node = had?.has(target.node) === false ? undefined : nodes.get(target.node);
    if (node === undefined || target.machine === undefined) return false;
    if (balancers.hasTarget?.(observed, target) !== false) return false;
    const answer = machines.check(node);
    if (answer.kind === "foreign" || (had === undefined && answer.kind === "exists")) return false;
    const since = state.lossSeenAt(clock.monotonic());
    const isAnswered = answer.kind !== "unknown" && answer.asOf >= since;
    if (isAnswered) return answer.kind === "gone";
    machines.request(node, since);
    // While requests fail, no answer is expected soon, and other changes must not wait for one.
    return !machines.isFailing(node);
  });
  return unproved.length > 0;
}

/** Settled: there is nothing that may be changed, and the status cannot be written either. */
function withholdDrift(
  { controller, reporter, standbyChanges, state }: ReconcileContext,
  plan: Omit<PlannedGroup, "kind" | "withheld" | "difference" | "areOnlyTargets" | "isLost">,
): PlannedGroup | Outcome {
  const { members, observed, fingerprint } = plan;
  const { balancers, settings } = controller;
  const hasStandbyChange = members.some(({ service }) => standbyChanges.has(service));
  const difference = differenceOf(state, plan, hasStandbyChange);
  if (plan.steps.length > 0 && mayLackMachines({ controller, state }, plan))
    return requeue(machinesRecheck, "answers about the machines of missing targets");
  const targetsOnly = balancers.targetsOnly?.bind(balancers);
  const { steps, withheld } = allowedSteps(plan.steps, difference, settings.drift, targetsOnly);
  const areOnlyTargets = settings.drift === "report" && difference !== "desired";
  const isServed = ({ service, desired }: Member): boolean =>
    desired.ending === undefined && addressesOf(service).length > 0;
  // While a change is under way, Fairlead may have removed it to create another one.
  const isLost = observed === undefined && state.change === undefined && members.some(isServed);
  if (withheld.length > 0) {
    state.noteDrift(fingerprint.spec);
    const canChangeTargets = difference === "drift" || targetsOnly !== undefined;
    const event = driftWithheld(withheld, { canChangeTargets, isLost });
    for (const { service } of members) reporter.report(service, "drift", [event]);
    const isUsable = observed?.state === "ready" && canChangeTargets;
    if (steps.length === 0 && !isUsable) return settled;
  }
  return { ...plan, kind: "planned", steps, difference, withheld, areOnlyTargets, isLost };
}

/** Returns whether the desired targets have changed because of it. */
export function noteRefused(
  { controller: { clock }, desiredServices, serviceStates }: ReconcileDeps,
  services: readonly Service[],
  refused: readonly RefusedTarget[] = [],
): boolean {
  let isNews = false;
  for (const { node, text, owner, retryAfter } of refused) {
    const target = desiredServices.targets.candidate(node);
    if (target === undefined) continue;
    for (const service of services) {
      if (owner !== undefined && owner !== serviceUID(service.metadata.uid)) continue;
      const state = serviceStates.of(service);
      // Several steps of one plan may report the same target.
      if (state.noteRefusal(target, text, clock.monotonic(), retryAfter)) isNews = true;
    }
  }
  return isNews;
}

// The changes that a reconcile may make because an object is absent. A load balancer that listings lack is absent only after
// proof; in doubt, an absence has no consequences; each resulting change is recorded first. If listings show none of the load
// balancers that Fairlead created, no further one is created. Targets stay while Nodes may be missing in the API server.

import { type Milliseconds, milliseconds, minutes } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { countOf, shortList } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { isListingBelieved } from "../../kernel/doubt.ts";
import { awaited, judge } from "../../kernel/proof.ts";
import { type Unproved, unprovedAbsence } from "../observe/balancer-absence.ts";
import { hasVanished, removalKind } from "../observe/balancer-census.ts";
import { isEnding } from "../predicates.ts";
import type { ServiceSettings } from "../settings.ts";
import { createsBalancer } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
import { showProblems } from "../status/service-reporter.ts";
import { addressesOf } from "../status/status.ts";
import { changedTargets } from "../targets/changed-targets.ts";
import {
  balancerMissing,
  createdButNotListed,
  massRecreationHeld,
  massReleaseHeld,
  massRemovalHeld,
  massWaitHeld,
  type OutcomeOfAbsence,
  serviceVanished,
  waitingForListing,
} from "../texts.ts";
import { holdReleasably, type PlannedChange, type ReconcileContext } from "./context.ts";

/** Only a newer listing shows whether the cloud has recovered. */
const recheckAfter: Milliseconds = minutes(1);

/**
 * Keeps the load balancer of a Service that vanished from the API so recently that it may come back, or together with too many
 * others. Undefined if the load balancer may be removed.
 */
export function checkVanished(
  context: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): Outcome | undefined {
  const { controller, doubt, state } = context;
  const { clock, settings, services } = controller;
  if (state.goneAt === undefined || observed === undefined || settings.vanished === "keep") return undefined;
  if (!hasVanished(services, state)) return undefined;
  // The decision may end a hold. Some Services have returned by then, and this Service gets the full time to return.
  const { held, restartedAt } = doubt.about(state.uid);
  const now = clock.monotonic();
  // The cache of the API server has lacked the Service since then, and still does.
  const proofs = [state.goneAt, now].map((at) => ({ kind: "listing", beganAt: at, knownAt: at }) as const);
  const rule = { confirmAfter: settings.confirmAfter, kinds: [], restartedAt };
  const decidedAt = awaited(judge({ certainty: "exists", proofs }, rule))?.at;
  const what = "a decision about Services that vanished";
  if (decidedAt !== undefined) {
    state.setHold(serviceVanished(state.key));
    return requeue(milliseconds(decidedAt - now), what);
  }
  if (held === undefined) return undefined;
  holdReleasably(context, massRemovalHeld(state.key, held));
  return requeue(recheckAfter, what);
}

/** Undefined if the plan is not held. */
export async function checkDoubt(
  context: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  const { doubt, service, state } = context;
  const { observed } = plan;
  // The load balancer or its Service is there again.
  if (observed !== undefined && !hasVanishedWith(state, plan)) endRelease(context);
  const consequence = consequenceOf(state, plan);
  if (consequence === undefined) return undefined;
  const { held } = doubt.about(state.uid);
  // Without a missing load balancer, listings show the effect of a request with an unknown outcome.
  const isUncertain = state.evidence.certainty === "possible";
  const isFree = held === undefined || (isUncertain && isListingBelieved(held));
  // The verdict may have ended a hold, and the proof then starts again.
  if (isFree) return observed === undefined ? checkAbsence(context, service) : undefined;
  return consequence === "forgotten"
    ? holdAbsent(context, undefined, massWaitHeld(state.key, held))
    : holdAbsent(context, service, massRecreationHeld(held, observed !== undefined));
}

/** Undefined when the Service is proved to have no load balancer. Otherwise reports the missing proof and waits. */
export function checkAbsence(context: ReconcileContext, service: Service | undefined): Outcome | undefined {
  const absence = judgeAbsence(context);
  return absence && waitForProof(context, service, absence);
}

/** Records changes that follow from an absence before they are made. Undefined if the steps may be applied now. */
export async function recordChange(
  { controller: { isObserving }, doubt, state }: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  const isCounted =
    hasVanishedWith(state, plan) || (createsBalancer(plan) && state.evidence.certainty === "exists");
  if (isObserving || !isCounted || plan.steps.length === 0) return undefined;
  // Storing takes time, so the verdict is computed again with the latest data.
  return (await doubt.record([state.uid])) === "recorded"
    ? undefined
    : requeue(milliseconds(0), "the change is recorded");
}

/** Ends the release by an operator. If the load balancer is absent again later, it must be released again. */
export function endRelease({ controller, state }: ReconcileContext): void {
  controller.removals.endRelease(removalKind, state.uid);
}

/**
 * The consequences of an absence in a plan: a load balancer that existed, or may have existed, is recreated; a load balancer
 * whose Service vanished is removed; a load balancer that is only missing is forgotten with its Service.
 */
function consequenceOf(
  state: ServiceState,
  plan: PlannedChange,
): "made again" | "removed" | "forgotten" | undefined {
  const { certainty, isRemoved } = state.evidence;
  if (hasVanishedWith(state, plan)) return plan.steps.length > 0 ? "removed" : undefined;
  if (createsBalancer(plan)) return certainty !== undefined || isRemoved ? "made again" : undefined;
  // An irreparable load balancer is removed only when a new one may be created.
  if (!plan.isLeaving && plan.steps.some(({ removes }) => removes === true)) return "made again";
  const isForgotten = plan.observed === undefined && plan.member === undefined;
  return isForgotten && certainty === "exists" ? "forgotten" : undefined;
}

function hasVanishedWith({ goneAt, isDeletionSeen }: ServiceState, { observed }: PlannedChange): boolean {
  return observed !== undefined && goneAt !== undefined && !isDeletionSeen;
}

/**
 * Keeps the finalizer of a Service whose load balancer is missing while there is doubt about missing load balancers. Undefined if
 * the finalizer may be removed, for example after a deletion by Fairlead that a lookup has proved.
 */
export async function checkRelease(
  context: ReconcileContext,
  service: Service,
): Promise<Outcome | undefined> {
  const { state, doubt } = context;
  if (state.evidence.certainty === undefined) return undefined;
  const { held } = doubt.about(state.uid);
  return held === undefined
    ? checkAbsence(context, service)
    : holdAbsent(context, service, massReleaseHeld(held));
}

async function holdAbsent(
  context: ReconcileContext,
  service: Service | undefined,
  problem: Problem,
): Promise<Outcome> {
  holdReleasably(context, problem);
  if (service !== undefined) await showProblems(context, "absence", service, [problem]);
  return recheckListing(context, problem.reason);
}

/** Requests a newer listing when the latest one is too old to show whether the cloud has recovered. */
function recheckListing({ controller: { clock }, inventory, state }: ReconcileContext, why: string): Outcome {
  const age = clock.monotonic() - inventory.beganAt;
  return age >= recheckAfter ? inventory.request(state.uid) : requeue(milliseconds(recheckAfter - age), why);
}

/**
 * The missing part of the proof that the Service has no load balancer, if the cloud shows none. Undefined if the proof is
 * complete. If this verdict ends a hold, the absence needs a new proof.
 */
export function judgeAbsence({
  controller,
  doubt,
  inventory,
  state,
}: ReconcileContext): Unproved | undefined {
  return unprovedAbsence({
    known: state.evidence,
    restartedAt: doubt.about(state.uid).restartedAt,
    confirmAfter: controller.settings.confirmAfter,
    listedAt: inventory.knownAt,
  });
}

/** Reports the missing proof on the Service, if it exists, and waits. */
export function waitForProof(
  context: ReconcileContext,
  service: Service | undefined,
  absence: Unproved,
  /** Another visible load balancer with the same mark. */
  replacement?: string,
): Outcome {
  const { state } = context;
  const { clock, settings, classes } = context.controller;
  if (service === undefined) return requestProof(context, absence);
  const at = clock.now() + absence.decidedAt - clock.monotonic();
  const { held } = context.doubt.about(state.uid);
  const ends = isEnding(service, classes);
  const missing = { name: state.session.managed?.name, addresses: addressesOf(service), replacement };
  const event = absence.isExpected
    ? waitingForListing(at, ends)
    : held?.account === "nothing shown"
      ? (ends ? massReleaseHeld : massRecreationHeld)(held)
      : balancerMissing(at, held === undefined ? outcomeOf(settings, ends) : "held", missing);
  context.reporter.report(service, absence.isExpected ? "waiting" : "absence", [event]);
  state.setHold({ ...event, severity: "hold" });
  return requestProof(context, absence);
}

function outcomeOf({ drift }: Pick<ServiceSettings, "drift">, ends: boolean): OutcomeOfAbsence {
  if (ends) return "finalizer removed";
  return drift === "report" ? "reported" : "created again";
}

/** Requests the next listing when it is due. */
function requestProof(context: ReconcileContext, { checkAt }: Unproved): Outcome {
  const now = context.controller.clock.monotonic();
  if (checkAt <= now) return context.inventory.request(context.state.uid);
  return requeue(milliseconds(checkAt - now), "proof that the load balancer is absent");
}

/** Undefined if the plan may be applied. */
export async function checkUnlisted(
  context: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  const { member, steps, fingerprint } = plan;
  const { controller, state } = context;
  if (!createsBalancer(plan) || member === undefined || fingerprint === undefined) return undefined;
  if (controller.removals.isReleased(removalKind, state.uid)) return undefined;
  const { creations } = state;
  const count = creations.countOf(steps.map(whatOf), fingerprint.spec);
  if (count === undefined) return undefined;
  const names = steps.flatMap((step) => (creations.has(whatOf(step)) ? (step.on ?? []) : []));
  const problem = createdButNotListed({ count, names: [...new Set(names)] });
  await showProblems(context, "absence", member.service, [problem], member.problems);
  holdReleasably(context, problem);
  return recheckListing(context, problem.reason);
}

/** Identifies what a step creates. Other data may differ, because a Node may have joined in between. */
export const whatOf = ({ do: what, on = "" }: Step): string => `${what} ${on}`;

export const targetRemovalHeld = "TargetRemovalHeld";

interface HeldTargets {
  /** The steps that do not change targets. */
  readonly steps: readonly Step[];
  readonly problem: Problem;
}

/**
 * Withholds changes of targets while the Nodes in the API server cannot be all Nodes of this cluster, or while the targets may be
 * machines of Nodes about which the cloud has not answered. Undefined if all steps may be applied.
 */
export function holdTargets(context: ReconcileContext, steps: readonly Step[]): HeldTargets | undefined {
  const { nodes, removals } = context.controller;
  const { size } = changedTargets(steps).removed;
  const others = steps.filter((step) => step.targets === undefined && step.targetsPart === undefined);
  const { unproved } = context.desiredServices.targets;
  if (size > 0 && unproved.length > 0) return { steps: others, problem: unprovedTargets(size, unproved) };
  if (context.history.vanishedNodes.allowRemovalOf(size)) return undefined;
  const problem: Problem = {
    severity: "warning",
    reason: targetRemovalHeld,
    text: `The load balancer would lose ${countOf(size, "target")}, but the API server shows ${countOf(nodes.size, "Node")}, and no deletion of the others was seen. That is treated as another cluster or a restored etcd, so the load balancer keeps its targets.`,
    remedy: `Check which cluster this is. To remove the targets anyway: ${removals.howToRelease(removalKind)}`,
    // The counts change while Nodes return.
    identity: "",
  };
  holdReleasably(context, problem);
  return { steps: others, problem };
}

/** The wait ends with the cloud's answer. */
function unprovedTargets(count: number, unproved: readonly string[]): Problem {
  return {
    severity: "warning",
    reason: targetRemovalHeld,
    text: `The load balancer would lose ${countOf(count, "target")}, which may be the machines of these k3s or RKE2 Nodes, because the cloud has not answered about them: ${shortList(unproved)}. It keeps its targets until then.`,
    remedy: `See which requests to the cloud fail. A Node without a machine in this cloud can be deleted, or left out with --node-selector.`,
    identity: "",
  };
}

// Limits what a reconcile may change because something is absent. A load balancer that listings do not show is absent only after proof. The
// mass limit applies to load balancers that are created again, and to those whose Service vanished from the API; each is recorded before
// the change. If listings show none of the load balancers that Fairlead created, no further one is created. Targets stay while Nodes may be
// missing in the API server.

import { type Milliseconds, milliseconds, minutes } from "../../../core/brand.ts";
import { countOf } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { awaited, judge } from "../../kernel/proof.ts";
import type { ObjectEvent } from "../../reporter.ts";
import type { LastingProblem } from "../deps.ts";
import { absenceOf, type BalancerAbsence } from "../observed/balancer-absence.ts";
import { hasVanished, removalKind } from "../observed/balancer-mass-count.ts";
import { isEnding } from "../predicates.ts";
import type { ServiceSettings } from "../settings.ts";
import type { Existence } from "../state/balancer-evidence.ts";
import { createsBalancer } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
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
} from "../status/events.ts";
import { showProblems } from "../status/service-reporter.ts";
import { addressesOf } from "../status/status.ts";
import { changedTargets } from "../targets/changed-targets.ts";
import { holdReleasably, type PlannedChange, type ReconcileContext } from "./context.ts";

/** Only a newer listing shows whether the cloud has recovered. */
const recheckAfter: Milliseconds = minutes(1);

/**
 * Keeps the load balancer of a Service that vanished from the API so recently that it may come back, or together with too many others.
 * Undefined when it may be removed.
 */
export function checkVanished(
  context: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): Outcome | undefined {
  const { controller, massLimit, state } = context;
  const { clock, settings, services } = controller;
  if (state.goneAt === undefined || observed === undefined || settings.vanished === "keep") return undefined;
  if (!hasVanished(services, state)) return undefined;
  // The decision may end a hold. Some have returned then, and this one gets the whole time to return too.
  const { held, restartedAt } = massLimit.decideFor(state.uid);
  const now = clock.monotonic();
  const answer = (at: number) => ({ kind: "listing", beganAt: at, knownAt: at }) as const;
  const { confirmAfter } = settings;
  const rule = { confirmAfter, kinds: [], restartedAt };
  // The cache of the API server still lacks it.
  const known = { certainty: "exists", proofs: [answer(state.goneAt), answer(now)] } as const;
  const decidedAt = awaited(judge(known, rule))?.at;
  const what = "a decision about Services that vanished";
  if (decidedAt !== undefined) {
    state.setHold(serviceVanished(state.key));
    return requeue(milliseconds(decidedAt - now), what);
  }
  if (held === undefined) return undefined;
  holdReleasably(context, massRemovalHeld(state.key, held));
  return requeue(recheckAfter, what);
}

/** Undefined when the mass limit allows the plan. */
export async function checkMassLimit(
  context: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  const { massLimit, service, state } = context;
  const { observed } = plan;
  // The load balancer is there again, or its Service is.
  if (observed !== undefined && !hasVanishedWith(state, plan)) endRelease(context);
  const { isListingDoubted } = massLimit;
  const isHidden = isHiddenWithoutService(state, plan, isListingDoubted);
  // It does not count, but neither listings that lack too many others nor lookups prove then that it is absent.
  const isDoubted = repeatsCreation(state, plan) && isListingDoubted;
  if (!isCounted(state, plan) && !isDoubted && !isHidden) return undefined;
  const { held } = massLimit.decideFor(state.uid);
  if (held === undefined) return observed === undefined ? checkAbsence(context, service) : undefined;
  return isHidden
    ? holdAbsent(context, undefined, massWaitHeld(state.key, held))
    : holdAbsent(context, service, massRecreationHeld(held));
}

/** Undefined when it is certain that the Service has no load balancer. Otherwise reports the missing proof, and waits. */
export function checkAbsence(context: ReconcileContext, service: Service | undefined): Outcome | undefined {
  const absence = judgeAbsence(context);
  return absence.kind === "certain" ? undefined : waitForProof(context, service, absence);
}

/** Records a change that counts for the mass limit, before it is made. Undefined when the steps may be applied now. */
export async function recordChange(
  { controller: { removals, isObserving }, massLimit, state }: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  if (isObserving || !isCounted(state, plan) || removals.isReleased(removalKind, state.uid)) return undefined;
  const result = await massLimit.record([state.uid]);
  // Storing takes time, so the decision is made again on what is known then.
  return result === "recorded" ? undefined : requeue(milliseconds(0), "the change is recorded");
}

/** Ends the release by an operator. If the load balancer is absent again later, it must be released again. */
export function endRelease({ controller, state }: ReconcileContext): void {
  controller.removals.endRelease(removalKind, state.uid);
}

/** Whether the plan would create an absent load balancer again, or remove one whose Service vanished. */
function isCounted(state: ServiceState, plan: PlannedChange): boolean {
  const { observed, isLeaving, steps } = plan;
  if (steps.length === 0) return false;
  return observed === undefined
    ? !isLeaving && state.evidence.known?.certainty === "exists"
    : hasVanishedWith(state, plan);
}

/**
 * Whether the plan would create a load balancer that an earlier request may have created, or that Fairlead deleted. The fault that hides
 * the others may also have affected the lookups.
 */
function repeatsCreation({ evidence }: ServiceState, plan: PlannedChange): boolean {
  return createsBalancer(plan) && (evidence.known?.certainty === "possible" || evidence.isRemoved);
}

function hasVanishedWith({ goneAt, isDeletionSeen }: ServiceState, { observed }: PlannedChange): boolean {
  return observed !== undefined && goneAt !== undefined && !isDeletionSeen;
}

/** The Service is gone, and its load balancer would be forgotten because listings, or doubted lookups, do not show it. */
function isHiddenWithoutService(
  { evidence: { known } }: ServiceState,
  { member, observed }: PlannedChange,
  isDoubted: boolean,
): boolean {
  if (observed !== undefined || member !== undefined) return false;
  return isDoubted ? known?.certainty === "exists" : isProvedByListings(known);
}

const isProvedByListings = (known: Existence | undefined): boolean =>
  known?.certainty === "exists" && known.notFoundAt === undefined;

/**
 * Keeps the finalizer of a Service that no longer needs a load balancer while too many load balancers are absent: the listings
 * that prove the absence of its own load balancer are not believed then. Undefined when the finalizer may be removed.
 */
export async function checkMassRelease(
  context: ReconcileContext,
  service: Service,
): Promise<Outcome | undefined> {
  const { state, massLimit } = context;
  const { known } = state.evidence;
  // The fault that hides other load balancers may affect lookups as well. A removed load balancer is gone in any account.
  const isDoubted = known === undefined ? massLimit.lacksTooMany : massLimit.isListingDoubted;
  if (!isProvedByListings(known) && !isDoubted) return undefined;
  const { held } = massLimit.decideFor(state.uid);
  return held === undefined
    ? checkAbsence(context, service)
    : holdAbsent(context, service, massReleaseHeld(held));
}

async function holdAbsent(
  context: ReconcileContext,
  service: Service | undefined,
  event: ObjectEvent,
): Promise<Outcome> {
  holdReleasably(context, event);
  const problem = { severity: "error", reason: event.reason, text: event.message } as const;
  if (service !== undefined) await showProblems(context, "absence", service, [problem]);
  return recheckListing(context, event.reason);
}

/** Requests a newer listing when the latest one is too old to show whether the cloud has recovered. */
function recheckListing(
  { controller: { clock }, freshListing, state }: ReconcileContext,
  why: string,
): Outcome {
  const age = clock.monotonic() - freshListing.beganAt;
  return age >= recheckAfter ? freshListing.request(state) : requeue(milliseconds(recheckAfter - age), why);
}

type Unproved = Extract<BalancerAbsence, { kind: "unproved" }>;

/**
 * Whether it is certain that the Service has no load balancer, given that the cloud shows none. The absence is not proved any more if the
 * mass limit ends a hold with this decision.
 */
export function judgeAbsence({
  controller,
  massLimit,
  freshListing,
  state,
}: ReconcileContext): BalancerAbsence {
  return absenceOf({
    known: state.evidence.known,
    restartedAt: massLimit.decideFor(state.uid).restartedAt,
    confirmAfter: controller.settings.confirmAfter,
    listedAt: freshListing.knownAt,
  });
}

/** Reports the missing proof on the Service, if there is one to report it on, and waits. */
export function waitForProof(
  context: ReconcileContext,
  service: Service | undefined,
  absence: Unproved,
  /** Another load balancer with the same mark that the cloud shows. */
  replacement?: string,
): Outcome {
  const { state } = context;
  const { clock, settings } = context.controller;
  if (service === undefined) return requestProof(context, absence);
  const at = clock.now() + absence.decidedAt - clock.monotonic();
  const { held } = context.massLimit.decideFor(state.uid);
  const missing = { name: state.session.managed?.name, addresses: addressesOf(service), replacement };
  const event = absence.isExpected
    ? waitingForListing(at, isEnding(service))
    : held?.doubt === "nothing shown"
      ? (isEnding(service) ? massReleaseHeld : massRecreationHeld)(held)
      : balancerMissing(at, outcomeOf(service, settings), missing);
  context.reporter.report(service, absence.isExpected ? "waiting" : "absence", [event]);
  state.setHold({ reason: event.reason, message: event.message });
  return requestProof(context, absence);
}

function outcomeOf(service: Service, { drift }: Pick<ServiceSettings, "drift">): OutcomeOfAbsence {
  if (isEnding(service)) return "finalizer removed";
  return drift === "report" ? "reported" : "created again";
}

/** Requests the next listing when it is due. */
function requestProof(context: ReconcileContext, { checkAt }: Unproved): Outcome {
  const now = context.controller.clock.monotonic();
  if (checkAt <= now) return context.freshListing.request(context.state);
  return requeue(milliseconds(checkAt - now), "proof that the load balancer is absent");
}

/** Undefined when the plan may be applied. */
export async function checkUnlisted(
  context: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  const { member, steps, fingerprint } = plan;
  const { controller, state } = context;
  if (!createsBalancer(plan) || member === undefined || fingerprint === undefined) return undefined;
  if (controller.removals.isReleased(removalKind, state.uid)) return undefined;
  const { creations } = state.evidence;
  const count = creations.countOf(steps.map(whatOf), fingerprint.spec);
  if (count === undefined) return undefined;
  const names = steps.flatMap((step) => (creations.has(whatOf(step)) ? (step.on ?? []) : []));
  const problem = createdButNotListed({ count, names: [...new Set(names)] });
  await showProblems(context, "absence", member.service, [problem], member.problems);
  holdReleasably(context, { reason: problem.reason, message: problem.text });
  return recheckListing(context, problem.reason);
}

/** Identifies what a step creates. The other data may differ: a Node may have joined in between. */
export const whatOf = ({ do: what, on = "" }: Step): string => `${what} ${on}`;

export const targetRemovalHeld = "TargetRemovalHeld";

interface HeldTargets {
  /** Those that leave the targets as they are. */
  readonly steps: readonly Step[];
  readonly problem: LastingProblem;
}

/** Withholds changes of targets while the Nodes of the API server cannot be all Nodes of this cluster. Undefined: all may be applied. */
export function holdTargets(context: ReconcileContext, steps: readonly Step[]): HeldTargets | undefined {
  const { nodes, removals, settings } = context.controller;
  const { size } = changedTargets(steps).removed;
  if (settings.removalLimit === "off" || context.history.vanishedNodes.allowRemovalOf(size)) return undefined;
  const others = steps.filter((step) => step.targets === undefined && step.targetsPart === undefined);
  const problem: LastingProblem = {
    severity: "warning",
    reason: targetRemovalHeld,
    text: `The load balancer would lose ${countOf(size, "target")}, but the API server shows ${countOf(nodes.size, "Node")}, and no deletion of the others was seen. That is treated as another cluster or a restored etcd, so the load balancer keeps its targets. Check which cluster this is. To remove the targets anyway: ${removals.howToRelease(removalKind)}`,
    // The counts change while Nodes return.
    identity: "",
  };
  holdReleasably(context, { reason: problem.reason, message: problem.text });
  return { steps: others, problem };
}

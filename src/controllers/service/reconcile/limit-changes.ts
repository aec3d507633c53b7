// Limits what a group may change because something is absent. A load balancer that listings do not show is absent only after proof. The mass
// limit applies to load balancers that are created again, and to those whose Service vanished from the API; each is recorded before the
// change. If listings show none of the load balancers that Fairlead created, no further one is created. Targets stay while Nodes may be
// missing in the API server.

import {
  type Milliseconds,
  milliseconds,
  minutes,
  type ServiceUID,
  serviceUID,
} from "../../../core/brand.ts";
import { countOf } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { awaited, judge } from "../../absence/proof.ts";
import type { ObjectEvent } from "../../reporter.ts";
import type { LastingProblem } from "../deps.ts";
import { absenceOf, type BalancerAbsence } from "../observed/balancer-absence.ts";
import { hasVanished, removalKind } from "../observed/balancer-mass-count.ts";
import { isEnding } from "../predicates.ts";
import type { ServiceSettings } from "../settings.ts";
import type { OwnerEvidence } from "../state/balancer-evidence.ts";
import { createsBalancer, type Hold } from "../state/group-parts.ts";
import type { GroupState } from "../state/group-state.ts";
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
import { confirmAfterOf, holdReleasably, type PlannedGroup, type ReconcileContext } from "./context.ts";

/** Only a newer listing shows whether the cloud has recovered. */
const recheckAfter: Milliseconds = minutes(1);

/** A Service that vanished from the API, and whose load balancer must not be removed yet. */
export interface Undecided {
  readonly owners: readonly ServiceUID[];
  /** The keys of their Services. */
  readonly names: readonly string[];
  readonly hold: Hold;
  readonly decidedAfter: Milliseconds;
}

/** The owners that vanished from the API so recently that they may come back, or together with too many others. */
export function undecidedOwners(
  { controller: { clock, settings, services }, massLimit, state: { group, goneServices } }: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
): Undecided | undefined {
  const vanished = [...goneServices].filter(
    ([uid, service]) => hasVanished(services, uid, service) && observed?.owners.includes(uid) === true,
  );
  if (vanished.length === 0 || settings.vanished === "keep") return undefined;
  const owners = vanished.map(([uid]) => uid);
  const names = vanished.map(([, { key }]) => key);
  // The decision may end a hold. Some have returned then, and the others get the whole time to return too.
  const held = massLimit.holdFor(group);
  const now = clock.monotonic();
  const answer = (at: number) => ({ kind: "listing", beganAt: at, knownAt: at }) as const;
  const { confirmAfter } = settings;
  const rule = { confirmAfter, kinds: [], restartedAt: massLimit.restartedFor(group) };
  const missing = vanished.flatMap(([, { at }]) => {
    // The cache of the API server still lacks them.
    const known = { certainty: "exists", proofs: [answer(at), answer(now)] } as const;
    return awaited(judge(known, rule))?.at ?? [];
  });
  if (missing.length > 0) {
    const decidedAfter = milliseconds(Math.max(...missing) - now);
    return { owners, names, hold: serviceVanished(names), decidedAfter };
  }
  if (held === undefined) return undefined;
  return { owners, names, hold: massRemovalHeld(names, held), decidedAfter: recheckAfter };
}

/** Keeps the load balancers of these Services until the decision. */
export function waitForDecision(
  context: ReconcileContext,
  { names, hold, decidedAfter }: Undecided,
): Outcome {
  if (hold.isReleasable === true) holdReleasably(context, hold, names);
  else context.state.setHold(hold);
  return requeue(decidedAfter, "a decision about Services that vanished");
}

/** Undefined when the mass limit allows the plan. */
export async function checkMassLimit(
  context: ReconcileContext,
  plan: PlannedGroup,
): Promise<Outcome | undefined> {
  const { massLimit, group, services, state } = context;
  const { observed, serving, gone } = plan;
  // The load balancer is there again, or its Service is.
  if (observed !== undefined && vanishedOwners(state, plan).length === 0) endRelease(context);
  const { isListingDoubted } = massLimit;
  const hidden = hiddenWithoutService(state, plan, isListingDoubted);
  // It does not count, but neither listings that lack too many others nor lookups prove then that it is absent.
  const isDoubted = repeatsCreation(state, plan) && isListingDoubted;
  const isConcerned = isCounted(state, plan) || isDoubted || hidden.length > 0;
  if (!isConcerned) return undefined;
  // The decision of the mass limit may have ended a hold: then the absence is not proved any more.
  const held = massLimit.holdFor(group);
  if (held === undefined)
    return observed === undefined ? checkAbsence(context, services, [...serving, ...gone]) : undefined;
  return hidden.length === 0
    ? holdAbsent(context, services, massRecreationHeld(held))
    : holdAbsent(context, [], massWaitHeld(hidden, held));
}

/** Undefined when it is certain that these owners have no load balancer in the group. Otherwise reports the missing proof, and waits. */
export function checkAbsence(
  context: ReconcileContext,
  services: readonly Service[],
  owners: readonly ServiceUID[],
): Outcome | undefined {
  const absence = judgeAbsence(context, owners);
  return absence.kind === "certain" ? undefined : waitForProof(context, services, absence);
}

/** Records a change that counts for the mass limit, before it is made. Undefined when the steps may be applied now. */
export async function recordChange(
  { controller: { removals, isObserving }, massLimit, group, state }: ReconcileContext,
  plan: PlannedGroup,
): Promise<Outcome | undefined> {
  if (isObserving || !isCounted(state, plan) || removals.isReleased(removalKind, group)) return undefined;
  const vanished = vanishedOwners(state, plan);
  const ids = vanished.length > 0 ? vanished : [group];
  const result = await massLimit.record(ids);
  // Storing takes time, so the decision is made again on what is known then.
  return result === "recorded" ? undefined : requeue(milliseconds(0), "the change is recorded");
}

/** Ends the release by an operator. If the load balancer is absent again later, it must be released again. */
export function endRelease({ controller, group }: ReconcileContext): void {
  controller.removals.endRelease(removalKind, group);
}

/** Whether the plan would create an absent load balancer again, or remove one whose Service vanished. */
function isCounted(state: GroupState, plan: PlannedGroup): boolean {
  const { observed, serving, steps } = plan;
  if (steps.length === 0) return false;
  return observed === undefined
    ? serving.some((uid) => state.evidence.get(uid)?.certainty === "exists")
    : vanishedOwners(state, plan).length > 0;
}

/**
 * Whether the plan would create a load balancer that an earlier request may have created, or that Fairlead deleted. The fault that hides
 * the others may also have affected the lookups.
 */
function repeatsCreation({ evidence }: GroupState, { observed, serving, steps }: PlannedGroup): boolean {
  if (observed !== undefined || steps.length === 0) return false;
  return serving.some((uid) => evidence.get(uid)?.certainty === "possible" || evidence.isRemoved(uid));
}

function vanishedOwners(
  { goneServices }: GroupState,
  { observed, gone }: PlannedGroup,
): readonly ServiceUID[] {
  if (observed === undefined) return [];
  return gone.filter((uid) => goneServices.get(uid)?.isDeletionSeen === false);
}

/** The Services that are gone, and whose load balancer would be forgotten because listings, or doubted lookups, do not show it. */
function hiddenWithoutService(
  { evidence, goneServices }: GroupState,
  { observed, gone }: PlannedGroup,
  isDoubted: boolean,
): readonly string[] {
  if (observed !== undefined) return [];
  const hidden = gone.filter((uid) =>
    isDoubted ? evidence.get(uid)?.certainty === "exists" : isProvedByListings(evidence.get(uid)),
  );
  return hidden.map((uid) => goneServices.get(uid)?.key ?? uid);
}

const isProvedByListings = (known: OwnerEvidence | undefined): boolean =>
  known?.certainty === "exists" && known.notFoundAt === undefined;

/**
 * Keeps the finalizer of a Service that no longer needs a load balancer while too many load balancers are absent: the listings
 * that prove the absence of its own load balancer are not believed then. Undefined when the finalizer may be removed.
 */
export async function checkMassRelease(
  context: ReconcileContext,
  service: Service,
): Promise<Outcome | undefined> {
  const { group, state, massLimit } = context;
  const uid = serviceUID(service.metadata.uid);
  const known = state.evidence.get(uid);
  // The fault that hides other load balancers may affect lookups as well. A removed load balancer is gone in any account.
  const isDoubted = known === undefined ? massLimit.lacksTooMany : massLimit.isListingDoubted;
  if (!isProvedByListings(known) && !isDoubted) return undefined;
  const held = massLimit.holdFor(group);
  return held === undefined
    ? checkAbsence(context, [service], [uid])
    : holdAbsent(context, [service], massReleaseHeld(held));
}

async function holdAbsent(
  context: ReconcileContext,
  services: readonly Service[],
  event: ObjectEvent,
): Promise<Outcome> {
  holdReleasably(context, event);
  const problem = { severity: "error", reason: event.reason, text: event.message } as const;
  for (const service of services) await showProblems(context, "absence", service, [problem]);
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

/** Whether it is certain that these owners have no load balancer in the group, given that the cloud shows none. */
export function judgeAbsence(
  { controller, massLimit, freshListing, state }: ReconcileContext,
  uids: readonly ServiceUID[],
): BalancerAbsence {
  const owners = uids.flatMap((uid) => state.evidence.get(uid) ?? []);
  const restartedAt = massLimit.restartedFor(state.group);
  const confirmAfter = confirmAfterOf(controller);
  return absenceOf({ owners, confirmAfter, restartedAt, listedAt: freshListing.knownAt });
}

/** Reports the missing proof on the Services, and waits. */
export function waitForProof(
  context: ReconcileContext,
  services: readonly Service[],
  absence: Unproved,
  /** Another load balancer with the same mark that the cloud shows. */
  replacement?: string,
): Outcome {
  const { state } = context;
  const { clock, settings } = context.controller;
  const at = clock.now() + absence.decidedAt - clock.monotonic();
  const held = context.massLimit.holdFor(state.group);
  for (const service of services) {
    const missing = { name: state.managed?.name, addresses: addressesOf(service), replacement };
    const event = absence.isExpected
      ? waitingForListing(at, isEnding(service))
      : held?.doubt === "nothing shown"
        ? (isEnding(service) ? massReleaseHeld : massRecreationHeld)(held)
        : balancerMissing(at, outcomeOf(service, settings), missing);
    context.reporter.report(service, absence.isExpected ? "waiting" : "absence", [event]);
    state.setHold({ reason: event.reason, message: event.message });
  }
  return requestProof(context, absence);
}

function outcomeOf(service: Service, { drift }: Pick<ServiceSettings, "drift">): OutcomeOfAbsence {
  if (isEnding(service)) return "finalizer removed";
  return drift === "report" ? "reported" : "created again";
}

/** Requests the next listing when it is due. */
export function requestProof(context: ReconcileContext, { checkAt }: Unproved): Outcome {
  const now = context.controller.clock.monotonic();
  if (checkAt <= now) return context.freshListing.request(context.state);
  return requeue(milliseconds(checkAt - now), "proof that the load balancer is absent");
}

/** Undefined when the plan may be applied. */
export async function checkUnlisted(
  context: ReconcileContext,
  plan: PlannedGroup,
): Promise<Outcome | undefined> {
  const { members, steps, fingerprint } = plan;
  if (!createsBalancer(plan) || context.controller.removals.isReleased(removalKind, context.group))
    return undefined;
  const { creations } = context.state.evidence;
  const count = creations.countOf(steps.map(whatOf), fingerprint.spec);
  if (count === undefined) return undefined;
  const names = steps.flatMap((step) => (creations.has(whatOf(step)) ? (step.on ?? []) : []));
  const problem = createdButNotListed({ count, names: [...new Set(names)] });
  for (const { service, problems } of members) {
    await showProblems(context, "absence", service, [problem], problems);
  }
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
export function holdTargets(
  context: ReconcileContext,
  observed: ObservedLoadBalancer | undefined,
  steps: readonly Step[],
): HeldTargets | undefined {
  const { balancers, nodes, removals } = context.controller;
  const count = observed === undefined ? 0 : (balancers.targetCount?.(observed) ?? 0);
  if (count === 0 || context.desiredServices.targets.vanished.allowRemovalFrom(count)) return undefined;
  // Without this function, any step may remove targets.
  const others = steps.filter((step) => balancers.targetsOnly !== undefined && !balancers.targetsOnly(step));
  if (others.length === steps.length) return undefined;
  const problem: LastingProblem = {
    severity: "warning",
    reason: targetRemovalHeld,
    text: `The load balancer has ${countOf(count, "target")}, but the API server shows ${countOf(nodes.size, "Node")}, and no deletion of the others was seen. That is treated as another cluster or a restored etcd, so the load balancer keeps its targets. Check which cluster this is. To remove the targets anyway: ${removals.howToRelease(removalKind)}`,
    // The counts change while Nodes return.
    identity: "",
  };
  holdReleasably(context, { reason: problem.reason, message: problem.text });
  return { steps: others, problem };
}

// Observes the cloud objects of the Service: in the shared listing if that is recent enough, and with a call to the provider if
// listings are incomplete.

import {
  allParts,
  listingPart,
  needsLookup,
  type Observation,
  observationOf,
  type Parts,
} from "../../../cloud/inventory/balancer-observation.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { turn } from "../../../runtime/turns.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { addProof, awaited, judge } from "../../kernel/proof.ts";
import type { OnDelete } from "../desired/on-delete.ts";
import type { Unproved } from "../observe/balancer-absence.ts";
import { duplicatesFound, foundOther, hadOther, isUsed, nameOwners } from "../observe/ownership.ts";
import { hasFinalizer } from "../predicates.ts";
import type { ServiceState } from "../state/service-record.ts";
import { endAccountFailure, showProblems } from "../status/service-reporter.ts";
import { judgeAbsence, waitForProof } from "./allow.ts";
import { reportOtherCluster } from "./choose-steps.ts";
import type { ReconcileContext } from "./context.ts";
import { type Found, findBalancer } from "./find-balancer.ts";

interface Observed {
  readonly kind: "observed";
  readonly balancer: ObservedLoadBalancer | undefined;
  /** Further load balancers with the mark of the Service. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /** The parts that a plan may rely on. */
  readonly read: Parts;
}

/** `needs`: the parts that the last plan lacked. */
export async function observe(context: ReconcileContext, needs: Parts): Promise<Observed | Outcome> {
  const { service, state, evidenceUpdates, inventory } = context;
  evidenceUpdates.update();
  noteFinalizer(context);
  const found = findBalancer(context, needs);
  if (found === "unknown") return inventory.request(state.uid);
  if (service !== undefined) endAccountFailure(context.reporter, context.records, service);
  if (found.balancer === undefined) evidenceUpdates.noteAgain(state);
  const seen = await observeInDepth(context, found);
  if (seen === "unknown") return inventory.request(state.uid);
  const { balancer, lookedUpAt, observation, read } = seen;
  // The lookup contradicts the listing or an earlier lookup. A new listing also shows whether too many other load balancers are
  // missing.
  const isMissed = lookedUpAt !== undefined && balancer === undefined && wasThere(state, found);
  if (isMissed && !inventory.isJustListed(state.uid)) return inventory.request(state.uid);
  const isOther = lookedUpAt !== undefined && servesOther(context, balancer);
  const other = isOther
    ? [foundOther(state.key, balancer, nameOwners(context.controller.services, balancer))]
    : [];
  if (service !== undefined) await showProblems(context, "adoption", service, [...found.problems, ...other]);
  if (isOther || found.problems.length > 0) return settled;
  const { duplicates } = found;
  state.noteObservation(observation);
  if (balancer !== undefined) {
    const pause = turn(context.controller.clock);
    if (pause !== undefined) await pause;
    const unproved = noteManaged(context, found, balancer);
    if (unproved !== undefined) return waitForProof(context, service, unproved, balancer.name);
  }
  state.noteDuplicates(duplicates);
  if (service !== undefined) {
    const others = duplicates.map(({ name }) => name);
    const problems =
      balancer === undefined || others.length === 0
        ? []
        : [duplicatesFound(balancer.name, others, onDeleteKind(state))];
    await showProblems(context, "duplicates", service, problems);
  }
  const unproved = noteExistence(context, seen);
  if (unproved !== undefined) return waitForProof(context, await reportOtherCluster(context), unproved);
  return { kind: "observed", balancer, duplicates, read };
}

/** Nothing explains yet why a lookup did not find the load balancer. */
function wasThere({ evidence }: ServiceState, { balancer }: Found): boolean {
  return (
    balancer?.ownership === "ours" || (evidence.certainty === "exists" && evidence.removal === undefined)
  );
}

/** The effect of the Service's deletion on its load balancers. */
function onDeleteKind({ said: { onDelete } }: ServiceState): OnDelete["kind"] {
  if (onDelete === undefined) return "delete";
  return onDelete === "on hold" ? onDelete : "release";
}

/**
 * Another replica adds the finalizer before it creates a load balancer, and its last requests may arrive after it lost
 * leadership.
 */
function noteFinalizer({ controller: { clock, classes }, service, state }: ReconcileContext): void {
  if (service === undefined) return;
  const isPresent = hasFinalizer(service, classes);
  const isAddedByOther = state.lacksFinalizer && isPresent;
  state.noteFinalizer(isPresent);
  if (!isAddedByOther || state.evidence.certainty !== undefined) return;
  state.outdate(clock.monotonic());
  state.evidence.noteChange(clock.monotonic(), "possible");
}

/** A listing that only shows a duplicate proves nothing about the managed load balancer. */
function noteManaged(
  context: ReconcileContext,
  { duplicates, age: { beganAt } }: Found,
  observed: ObservedLoadBalancer,
): Unproved | undefined {
  if (observed.ownership !== "ours") return undefined;
  const { controller, inventory, doubt, state } = context;
  const { managed } = state.session;
  if (isOtherThanManaged(context, observed, duplicates)) {
    const { knownAt } = inventory;
    const proofs = addProof(managed?.proofs ?? [], { kind: "listing", beganAt, knownAt });
    const { confirmAfter } = controller.settings;
    const { restartedAt } = doubt.about(state.uid);
    const next = awaited(
      judge({ certainty: "exists", proofs }, { confirmAfter, kinds: ["listing"], restartedAt }),
    );
    if (next !== undefined) {
      state.setManaged({ ...managed, proofs });
      const { at = knownAt } = next;
      return { checkAt: at, decidedAt: at, isExpected: managed?.name === undefined };
    }
  }
  const { name } = observed;
  if (managed?.name !== name || managed.proofs !== undefined) state.setManaged({ name });
  return undefined;
}

/** Whether listings show only a load balancer with the Service's mark that is not the managed one. */
function isOtherThanManaged(
  { controller: { balancers }, desiredServices, service, state }: ReconcileContext,
  observed: ObservedLoadBalancer,
  duplicates: readonly ObservedLoadBalancer[],
): boolean {
  const { managed, change, duplicates: known } = state.session;
  if (managed?.name !== undefined) {
    // Any other change may have given the load balancer this name, unless it is the name of a duplicate.
    const mayBeRenamed = change !== undefined && change !== "update";
    if (mayBeRenamed && !known.some(({ name }) => name === observed.name)) return false;
    return [observed, ...duplicates].every(({ name }) => name !== managed.name);
  }
  // At the start of leadership. Later, a change may have replaced the load balancer.
  if (change !== undefined || service === undefined) return false;
  return [observed, ...duplicates].every((one) =>
    hadOther(balancers, { service, desired: desiredServices.of(service, one).desired }, one),
  );
}

/**
 * Returns the missing part of the proof that the load balancer is absent; undefined if the proof is complete or the load balancer
 * exists.
 */
function noteExistence(
  context: ReconcileContext,
  { balancer, lookedUpAt }: Pick<InDepth, "balancer" | "lookedUpAt">,
): Unproved | undefined {
  const { state, controller } = context;
  if (balancer?.ownership === "ours") {
    state.noteShown();
    return undefined;
  }
  // The id on the Service names the load balancer to adopt, so no proof is needed.
  if (balancer?.keys !== undefined) return undefined;
  if (balancer === undefined && lookedUpAt !== undefined) {
    const lookup = { beganAt: lookedUpAt, knownAt: controller.clock.monotonic() };
    state.evidence.noteLookup(lookup, controller.settings.confirmAfter);
  }
  return judgeAbsence(context);
}

interface InDepth {
  readonly balancer: ObservedLoadBalancer | undefined;
  /** When the lookup began, if there was one (monotonic). */
  readonly lookedUpAt: number | undefined;
  /** The starting point of later plans, if there is exactly one load balancer and it belongs to the Service. */
  readonly observation?: Observation;
  readonly read: Parts;
}

const nothing = { balancer: undefined, lookedUpAt: undefined, read: [] } as const;

/** Unknown if only a newer listing can decide, for example because the load balancer has lost its mark. */
async function observeInDepth(context: ReconcileContext, found: Found): Promise<InDepth | "unknown"> {
  const { controller, desiredServices, service, call } = context;
  const { balancers, clock, random } = controller;
  const { age, again, duplicates, listed } = found;
  if (found.problems.length > 0) return nothing;
  if (again !== undefined && service !== undefined) {
    const { before, parts, read, shown } = again;
    const at = clock.monotonic();
    const { desired } = desiredServices.of(service);
    const known = before.balancer ?? shown;
    const balancer = await balancers.observeAgain?.(desired, shown, known, parts, call);
    if (balancer?.ownership === "ours") {
      const now = { listed, balancer };
      const observation = observationOf(now, age, random.fraction, { before, parts, at });
      return { balancer, lookedUpAt: at, observation, read };
    }
    // The listing is also too old if it began before the last change of the Service.
    if (!age.isFresh || age.beganAt <= (before.notBefore ?? Number.NEGATIVE_INFINITY)) return "unknown";
  }
  const inDepth = { ...(await lookUp(context, found)), read: [allParts, listingPart] };
  const { balancer } = inDepth;
  if (balancer?.ownership !== "ours" || duplicates.length > 0) return inDepth;
  const now = { listed, balancer: balancers.observeAgain && balancer };
  return { ...inDepth, observation: observationOf(now, age, random.fraction) };
}

async function lookUp(
  { controller: { balancers, clock }, desiredServices, service, state, call }: ReconcileContext,
  { balancer: found }: Found,
): Promise<Pick<InDepth, "balancer" | "lookedUpAt">> {
  if (balancers.observe === undefined) return { balancer: found, lookedUpAt: undefined };
  const desired = service && desiredServices.of(service).desired;
  if (!needsLookup(found, desired)) return { balancer: found, lookedUpAt: undefined };
  // A lookup after the deletion has proved the removal, and the listing agrees.
  const isRemoved = desired?.ending !== undefined && state.evidence.isRemoved;
  if (found === undefined && isRemoved) return nothing;
  const lookedUpAt = clock.monotonic();
  return { balancer: await balancers.observe(desired, found, call), lookedUpAt };
}

/** A lookup may use an id that is stored on the Service, which users can change. */
function servesOther(
  { controller, state }: ReconcileContext,
  balancer: ObservedLoadBalancer | undefined,
): balancer is ObservedLoadBalancer {
  if (balancer === undefined || balancer.owners.includes(state.uid)) return false;
  return balancer.ownership === "foreign" || isUsed(controller, balancer);
}

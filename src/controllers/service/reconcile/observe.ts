// Observes what the cloud has for the Service: from the shared listing if that is recent enough, and with a call to the provider if
// listings are incomplete.

import { minutes } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { addProof, awaited, judge, type NextProof } from "../../kernel/proof.ts";
import type { OnDelete } from "../desired/on-delete.ts";
import type { BalancerAbsence } from "../observed/balancer-absence.ts";
import { type Found, listedPart, markPart, type Reading } from "../observed/fresh-listing.ts";
import { needsLookup } from "../observed/needs-lookup.ts";
import { duplicatesFound, foundOther, hadOther, isUsed, nameOwners } from "../observed/ownership.ts";
import { hasFinalizer } from "../predicates.ts";
import type { KeptObservation } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
import { endAccountFailure, showProblems } from "../status/service-reporter.ts";
import { reportOtherCluster } from "./choose-steps.ts";
import type { ReconcileContext } from "./context.ts";
import { judgeAbsence, waitForProof } from "./limit-changes.ts";

type Unproved = Extract<BalancerAbsence, { kind: "unproved" }>;

/** How long a reading in depth may be recalled. Some end earlier, so that not all are read at once. */
const recalledFor = minutes(60);

interface Observation {
  readonly kind: "observed";
  readonly balancer: ObservedLoadBalancer | undefined;
  /** Further load balancers with the mark of the Service. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /** The parts that were read recently. */
  readonly read: Reading;
  readonly listed: Found["listed"];
}

export async function observe(context: ReconcileContext, reading: Reading): Promise<Observation | Outcome> {
  const { service, state, evidenceUpdates, freshListing } = context;
  evidenceUpdates.update();
  noteFinalizer(context);
  const found = freshListing.find(state, service, reading);
  if (found === "not yet") return freshListing.request(state);
  if (service !== undefined) endAccountFailure(context.reporter, context.records, service);
  if (found.balancer === undefined) evidenceUpdates.noteAgain(state);
  const observed = found.problems.length > 0 ? nothing : await observeInDepth(context, found);
  const { balancer, lookedUpAt } = observed;
  // It has lost its mark since the last listing: only a new one says whose it is now.
  const isStale = found.read !== "after listing" && found.balancer?.ownership === "ours";
  if (isStale && balancer !== undefined && balancer.ownership !== "ours") return freshListing.request(state);
  // The lookup contradicts the listing, or an earlier lookup. A new listing also shows whether it lacks too many others.
  const isMissed = lookedUpAt !== undefined && balancer === undefined && wasThere(state, found);
  if (isMissed && !freshListing.isJustListed(state)) return freshListing.request(state);
  const isOther = lookedUpAt !== undefined && servesOther(context, balancer);
  const other = isOther
    ? [foundOther(state.key, balancer, nameOwners(context.controller.services, balancer))]
    : [];
  if (service !== undefined) await showProblems(context, "adoption", service, [...found.problems, ...other]);
  if (isOther || found.problems.length > 0) return settled;
  state.noteObservation(lookedUpAt ?? found.beganAt, keptFrom(context, found, observed));
  const { duplicates } = found;
  if (balancer !== undefined) {
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
  const unproved = noteObservation(context, { balancer, lookedUpAt });
  if (unproved !== undefined) return waitForProof(context, await reportOtherCluster(context), unproved);
  return { kind: "observed", balancer, duplicates, read: found.read, listed: found.listed };
}

/** Nothing shows yet why a lookup should not find it. */
function wasThere({ evidence: { known } }: ServiceState, { balancer }: Found): boolean {
  return balancer?.ownership === "ours" || (known?.certainty === "exists" && known.removal === undefined);
}

/** What later reconciles may use of it. */
function keptFrom(
  { controller: { balancers, random }, state: { session } }: ReconcileContext,
  { beganAt: listedAt, balancer: shown, duplicates }: Found,
  { balancer, lookedUpAt }: InDepth,
): KeptObservation | undefined {
  const { kept } = session;
  if (balancers.recall === undefined || duplicates.length > 0) return undefined;
  if (balancer?.ownership !== "ours") return undefined;
  const readAt = lookedUpAt ?? listedAt;
  const outdated = shown?.outdated;
  const markedAt =
    outdated?.includes(markPart) === true ? readAt : Math.max(listedAt, kept?.markedAt ?? listedAt);
  const observation = { balancer, listedAt, markedAt, outdated: [] };
  const isRead = lookedUpAt !== undefined && (outdated?.includes(listedPart) ?? true);
  if (kept !== undefined && !isRead) return { ...kept, ...observation };
  return { ...observation, readAt, recalledUntil: readAt + recalledFor * (1 - random.fraction() / 3) };
}

/** What the deletion of the Service does with its load balancers. */
function onDeleteKind({ said: { onDelete } }: ServiceState): OnDelete["kind"] {
  if (onDelete === undefined) return "delete";
  return onDelete === "on hold" ? onDelete : "release";
}

/** Another replica adds the finalizer before it creates a load balancer, and its last requests may arrive after it stopped leading. */
function noteFinalizer({ controller: { clock }, service, state }: ReconcileContext): void {
  if (service === undefined) return;
  const isPresent = hasFinalizer(service);
  const isAddedByOther = state.lacksFinalizer && isPresent;
  state.noteFinalizer(isPresent);
  if (isAddedByOther && state.evidence.known === undefined) state.noteOthersFinalizer(clock.monotonic());
}

/** A listing that shows only a duplicate proves nothing about the load balancer that is managed. */
function noteManaged(
  context: ReconcileContext,
  { duplicates, beganAt, knownAt }: Found,
  observed: ObservedLoadBalancer,
): Unproved | undefined {
  if (observed.ownership !== "ours") return undefined;
  const { controller, doubt, state } = context;
  const { managed } = state.session;
  const shown = { name: observed.name };
  const unproved = (): NextProof | undefined => {
    if (!isOtherThanManaged(context, observed, duplicates)) return undefined;
    const proofs = addProof(managed?.proofs ?? [], { kind: "listing", beganAt, knownAt });
    const rule = {
      confirmAfter: controller.settings.confirmAfter,
      kinds: ["listing"],
      restartedAt: doubt.about(state.uid).restartedAt,
    } as const;
    const next = awaited(judge({ certainty: "exists", proofs }, rule));
    if (next !== undefined) state.setManaged({ ...managed, proofs });
    return next;
  };
  const next = unproved();
  if (next !== undefined) {
    const { at = knownAt } = next;
    return { kind: "unproved", checkAt: at, decidedAt: at, isExpected: managed?.name === undefined };
  }
  if (managed?.name !== shown.name || managed.proofs !== undefined) state.setManaged(shown);
  return undefined;
}

/** Whether listings show only another load balancer with the mark of the Service than the one that is managed. */
function isOtherThanManaged(
  { controller: { balancers }, desiredServices, service, state }: ReconcileContext,
  observed: ObservedLoadBalancer,
  duplicates: readonly ObservedLoadBalancer[],
): boolean {
  const { managed, change, duplicates: known } = state.session;
  if (managed?.name !== undefined) {
    // Any other change may have given it this name, but not that of a duplicate.
    const mayBeRenamed = change !== undefined && change !== "update";
    if (mayBeRenamed && !known.some(({ name }) => name === observed.name)) return false;
    return [observed, ...duplicates].every(({ name }) => name !== managed.name);
  }
  // A leader begins. Later, a change may have replaced it.
  if (change !== undefined || duplicates.length > 0 || service === undefined) return false;
  const { desired } = desiredServices.of(service, observed);
  return hadOther(balancers, { service, desired }, observed);
}

/** Returns what is missing for the proof that the load balancer is absent; undefined if it is certain or exists. */
function noteObservation(context: ReconcileContext, { balancer, lookedUpAt }: InDepth): Unproved | undefined {
  const { state, controller } = context;
  if (balancer?.ownership === "ours") {
    state.noteShown();
    return undefined;
  }
  // The id on the Service names what it adopts, so nothing else is missing.
  if (balancer?.keys !== undefined) return undefined;
  if (balancer === undefined && lookedUpAt !== undefined) {
    const lookup = { beganAt: lookedUpAt, knownAt: controller.clock.monotonic() };
    state.noteLookup(lookup, controller.settings.confirmAfter);
  }
  const absence = judgeAbsence(context);
  return absence.kind === "unproved" ? absence : undefined;
}

interface InDepth {
  readonly balancer: ObservedLoadBalancer | undefined;
  /** When the lookup began, if there was one (monotonic). */
  readonly lookedUpAt?: number | undefined;
}

const nothing: InDepth = { balancer: undefined };

async function observeInDepth(
  { controller: { balancers, clock }, desiredServices, service, state, call }: ReconcileContext,
  { balancer: found }: Found,
): Promise<InDepth> {
  const desired = service && desiredServices.of(service).desired;
  if (balancers.observe === undefined || !needsLookup(found, desired)) return { balancer: found };
  // A lookup has proved it after the deletion, and the listing agrees.
  const isRemoved = desired?.ending !== undefined && state.evidence.isRemoved;
  if (found === undefined && isRemoved) return nothing;
  const lookedUpAt = clock.monotonic();
  return { balancer: await balancers.observe(desired, found, call), lookedUpAt };
}

/** A lookup may use an id that is stored on the Service, and users can write there what they like. */
function servesOther(
  { controller, state }: ReconcileContext,
  balancer: ObservedLoadBalancer | undefined,
): balancer is ObservedLoadBalancer {
  if (balancer === undefined || balancer.owners.includes(state.uid)) return false;
  return balancer.ownership === "foreign" || isUsed(controller, balancer);
}

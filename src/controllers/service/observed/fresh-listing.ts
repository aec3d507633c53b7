// Finds the load balancer of a Service in the listing that all Services share, or in the last observation, if that is recent enough, and says
// what is read again. Otherwise requests a newer listing, which enqueues the Service when it arrives.

import { type Milliseconds, minutes, seconds } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isManaged } from "../predicates.ts";
import type { KeptObservation } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
import { ingressOf, isSameIngress } from "../status/status.ts";
import { ListingIndex } from "./listing-index.ts";
import { type Adoption, adoptionOf, hadOther, primaryOf } from "./ownership.ts";

/** What is read in depth, or was read recently: these parts, all of the load balancer, or all of it after a recent listing. */
export type Reading = readonly string[] | "all" | "after listing";

/** What the listing has for a Service. */
export interface Found extends Adoption {
  /** When the listing began, and when it was known (monotonic). */
  readonly beganAt: number;
  readonly knownAt: number;
  /** Further load balancers with the mark of the Service. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /** What the latest listing has for the Service, as it is there, if that is one load balancer and no change came later. */
  readonly listed: ObservedLoadBalancer | undefined;
  /** What a plan may count as recently read, once the load balancer has been observed. */
  readonly read: Reading;
}

/** Shared: most Services have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

/** In `ObservedLoadBalancer.outdated`. */
export const listedPart = "listed";
export const markPart = "mark";

/** A reading younger than this is not repeated when a user changes a Service. */
const sameListingFor: Milliseconds = seconds(30);

/** A listing that is older does not show what is there now, just before it is removed. */
const justListedFor: Milliseconds = seconds(5);

/** Shorter than the pause between two regular listings. */
const restsFor: Milliseconds = minutes(15);

const never = Number.NEGATIVE_INFINITY;

export class FreshListing {
  readonly index: ListingIndex;
  readonly #deps: ServiceControllerDeps;
  readonly #desiredServices: Pick<DesiredServices, "of">;
  /** Older listings are outdated. */
  #expiredAt = never;

  constructor(deps: ServiceControllerDeps, desiredServices: Pick<DesiredServices, "of">) {
    this.index = new ListingIndex(deps.listing);
    this.#deps = deps;
    this.#desiredServices = desiredServices;
  }

  /** Another replica may have changed anything, another account may answer, or a cloud may have removed targets itself. */
  expire(): void {
    this.#expiredAt = this.#deps.clock.monotonic();
  }

  /** When the listing began (monotonic). */
  get beganAt(): number {
    return this.#deps.listing.latest?.beganAt ?? never;
  }

  /** When it was known (monotonic). */
  get knownAt(): number {
    return this.#deps.listing.latest?.endedAt ?? never;
  }

  /**
   * The load balancer of this Service, or else the one that it requests to adopt. `service`: undefined if it is gone. `reading`: the parts
   * that a plan relies on.
   */
  find(state: ServiceState, service: Service | undefined, reading: Reading = []): Found | "not yet" {
    if (!this.#isFresh(state)) return this.#keptBy(state, service, reading) ?? "not yet";
    const { balancers, services, listing } = this.#deps;
    const { adopts } = balancers;
    const all = this.index.of(state.uid);
    const marked = all.length < 2 ? all[0] : this.#primaryOf(state, service, all);
    const duplicates = all.length < 2 ? none : all.filter((one) => one !== marked);
    if (marked !== undefined || adopts === undefined || service === undefined) {
      const recalled = marked && this.#recall(state, service, reading, marked);
      if (recalled !== undefined) return this.#found(state, { ...recalled, duplicates });
      const { editedAt } = state.session;
      const isEditedSince = editedAt !== undefined && editedAt >= this.beganAt;
      const balancer = isEditedSince && marked !== undefined ? { ...marked, outdated: [listedPart] } : marked;
      return this.#found(state, { balancer, read: "after listing", duplicates });
    }
    const adoption = adoptionOf(
      service,
      () => services.list().filter(isManaged),
      listing.latest?.items ?? [],
      (one, balancer) => {
        const { desired } = this.#desiredServices.of(one);
        return desired.ending === undefined && adopts.call(balancers, desired, balancer);
      },
    );
    return this.#found(state, { ...adoption, read: "after listing", duplicates });
  }

  #found(state: ServiceState, parts: Pick<Found, "balancer" | "read"> & Partial<Found>): Found {
    const { beganAt, knownAt } = this;
    return { duplicates: none, problems: [], beganAt, knownAt, listed: this.#listedFor(state), ...parts };
  }

  /** The last observation, with the parts that are read again. */
  #keptBy(state: ServiceState, service: Service | undefined, reading: Reading): Found | undefined {
    const { kept, listingRequestedAt, editedAt } = state.session;
    if (kept === undefined || listingRequestedAt !== undefined || !this.#isValid(kept.listedAt, state))
      return undefined;
    const { listedAt: beganAt, balancer } = kept;
    const wanted = editedAt === undefined ? reading : "all";
    if (this.#isRecent(beganAt) && this.#isRecent(kept.readAt)) {
      const outdated = wanted === "all" ? [...kept.outdated, listedPart] : kept.outdated;
      return this.#found(state, { balancer: { ...balancer, outdated }, read: "after listing", beganAt });
    }
    if (reading === "after listing") return undefined;
    const further = this.#isRecent(kept.markedAt) ? [] : [markPart];
    if (wanted === "all" || kept.outdated.length > 0) {
      if (!this.#canRecall(state)) return undefined;
      const isAll = wanted === "all" || !this.#isRecallable(kept);
      const outdated = [...kept.outdated, ...(isAll ? [listedPart] : wanted), ...further];
      const read = isAll ? "all" : [...kept.outdated, ...wanted];
      return this.#found(state, { balancer: { ...balancer, outdated }, read, beganAt });
    }
    const recalled = this.#recall(state, service, wanted, balancer, further);
    return recalled && this.#found(state, { ...recalled, beganAt });
  }

  /** As it was observed in depth before, with these parts of it read again. */
  #recall(
    state: ServiceState,
    service: Service | undefined,
    reading: Reading,
    balancer: ObservedLoadBalancer,
    further: readonly string[] = [],
  ): Pick<Found, "balancer" | "read"> | undefined {
    const { kept, editedAt } = state.session;
    if (typeof reading === "string" || editedAt !== undefined) return undefined;
    if (kept === undefined || service === undefined) return undefined;
    if (!this.#canRecall(state) || kept.outdated.length > 0 || !this.#isRecallable(kept)) return undefined;
    const { desired } = this.#desiredServices.of(service);
    const known = this.#deps.balancers.recall?.(desired, balancer, kept.balancer);
    if (known === undefined) return undefined;
    const read = reading.length === 0 ? known : { ...known, outdated: [...reading, ...further] };
    return { balancer: read, read: reading };
  }

  #isRecallable({ readAt, recalledUntil }: KeptObservation): boolean {
    return readAt > this.#expiredAt && recalledUntil > this.#deps.clock.monotonic();
  }

  /** What a Service has left, or what another process may have changed, is not decided on an older listing. */
  #canRecall({ phase, session: { duplicates }, uid }: ServiceState): boolean {
    if (this.#deps.balancers.recall === undefined || phase !== "managed") return false;
    return duplicates.length === 0 && this.index.onlyOneOf(uid) !== undefined;
  }

  /** Undefined if the listing began before the last change: a later listing that repeats it shows that the change was lost. */
  #listedFor({ uid, changedAt = never }: ServiceState): ObservedLoadBalancer | undefined {
    return this.beganAt > changedAt ? this.index.onlyOneOf(uid) : undefined;
  }

  #primaryOf(
    { session: { managed } }: ServiceState,
    service: Service | undefined,
    all: readonly ObservedLoadBalancer[],
  ): ObservedLoadBalancer | undefined {
    return primaryOf(all, {
      isInUse: (one) => service !== undefined && this.#isInUse(one, service),
      isManaged: (one) => one.name === managed?.name,
      isOther: (one) => {
        if (service === undefined) return false;
        const { desired } = this.#desiredServices.of(service, one);
        return hadOther(this.#deps.balancers, { service, desired }, one);
      },
    });
  }

  /** Whether the Service has the addresses of this load balancer. */
  #isInUse(balancer: ObservedLoadBalancer, service: Service): boolean {
    const { desired } = this.#desiredServices.of(service, balancer);
    const publication = this.#deps.balancers.publish(desired, balancer);
    if (publication.kind !== "addresses" || publication.addresses.length === 0) return false;
    return isSameIngress(service.status.loadBalancer?.ingress, ingressOf(publication));
  }

  /** Requests a newer listing, unless one is under way. Throws if the one that was requested failed. */
  request(state: ServiceState): Outcome {
    const { clock, listing } = this.#deps;
    const { listingRequestedAt: requestedAt } = state.session;
    if (requestedAt !== undefined && this.beganAt < requestedAt) {
      const { failure } = listing;
      if (failure === undefined || failure.at < requestedAt) return waiting;
      state.setListingRequest(undefined);
      throw failure.error;
    }
    const now = clock.monotonic();
    state.setListingRequest(now);
    listing.request(now, "user-change");
    return waiting;
  }

  /** The Service was reconciled. Until then, the listing that it requested is fresh, however often it is looked at. */
  endRequest(state: ServiceState): void {
    if (this.#isRequested(state)) state.setListingRequest(undefined);
  }

  /** Requests a newer listing in the background. No Service waits for it. */
  refresh(): void {
    this.#deps.listing.request(this.#deps.clock.monotonic(), "refresh");
  }

  /** A user who changes a Service may have changed something in the cloud too. A tenant may change one all the time. */
  noteEdit(state: ServiceState): void {
    const at = this.#deps.clock.monotonic();
    if (at - (state.session.kept?.readAt ?? this.beganAt) < sameListingFor) return;
    const isReread =
      this.#deps.balancers.recall !== undefined && this.index.onlyOneOf(state.uid) !== undefined;
    if (isReread) state.noteEdit(at);
    else this.refresh();
  }

  /**
   * Whether a reconcile would find what it found last: the load balancer is complete, and the listing repeats it. After a while it is
   * planned all the same, for what no listing shows.
   */
  isAtRest({ uid, session: { rest, kept } }: ServiceState): boolean {
    if (rest === undefined || rest.since <= this.#expiredAt) return false;
    const until = Math.min(rest.since + restsFor, kept?.recalledUntil ?? Number.POSITIVE_INFINITY);
    return this.#deps.clock.monotonic() < until && this.index.onlyOneOf(uid) === rest.listed;
  }

  /**
   * Whether the listing shows what is there just before it is removed. A lookup that does not find it afterwards is a proof only then:
   * otherwise it may have been hidden all the time. Not where readings are recalled, because a listing costs more than a deletion there.
   */
  showsWhatIsRemoved(state: ServiceState): boolean {
    return this.#deps.balancers.recall !== undefined || this.isJustListed(state);
  }

  /** A listing that takes long is also used by the Services that it wakes up; otherwise they would request one after the other. */
  isJustListed(state: ServiceState): boolean {
    const { latest } = this.#deps.listing;
    const took = latest === undefined ? 0 : latest.endedAt - latest.beganAt;
    const age = this.#deps.clock.monotonic() - this.beganAt;
    return this.#isRequested(state) || age <= Math.max(justListedFor, 2 * took);
  }

  /** A listing that began at the time of the last change may not contain it. */
  #isFresh(state: ServiceState): boolean {
    const { changedAt = never } = state;
    if (this.beganAt <= changedAt || !this.#isValid(this.beganAt, state)) return false;
    return this.#isRequested(state) || this.#isRecent(this.beganAt);
  }

  /** A requested listing is fresh, however long it took to arrive and to be processed. */
  #isRequested({ session: { listingRequestedAt } }: ServiceState): boolean {
    return listingRequestedAt !== undefined && this.beganAt >= listingRequestedAt;
  }

  #isValid(began: number, { session: { listingDueAt: dueAt } }: ServiceState): boolean {
    const isDue = dueAt !== undefined && dueAt <= this.#deps.clock.monotonic() && began < dueAt;
    return began > this.#expiredAt && !isDue;
  }

  /** Recent enough for steps. */
  #isRecent(at: number): boolean {
    return at >= this.#deps.clock.monotonic() - this.#deps.settings.acceptsAge;
  }
}

interface ReadPlan {
  readonly steps: readonly Pick<Step, "outdates" | "restsOnListing">[];
  readonly problems?: readonly Pick<Problem, "severity">[] | undefined;
}

/**
 * What must be read before this plan is believed; undefined if what was read is enough. An old observation may only show that nothing is
 * to be done.
 */
export function nextReading({ steps, problems = [] }: ReadPlan, read: Reading): Reading | undefined {
  if (read === "after listing") return undefined;
  if (steps.some(({ restsOnListing }) => restsOnListing === true)) return "after listing";
  if (read === "all") return undefined;
  // What prevents all changes may have been corrected in the cloud.
  if (problems.some(({ severity }) => severity === "error")) return "all";
  const parts = [...new Set(steps.flatMap(({ outdates = ["all"] }) => outdates))];
  // Steps that outdate no part still rely on parts that are not known.
  if (steps.length > 0 && parts.length === 0) return "all";
  if (parts.every((part) => read.includes(part))) return undefined;
  return read.length > 0 || parts.includes("all") ? "all" : parts;
}

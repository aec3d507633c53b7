// Finds the load balancer of a group in the listing that all groups share, or in what was observed around the last change, if that is
// recent enough to plan on. Otherwise requests a newer listing, which enqueues the group when it arrives.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isManaged } from "../predicates.ts";
import type { GroupState, KeptObservation } from "../state/group-record.ts";
import type { GroupStates } from "../state/group-states.ts";
import { ingressOf, isSameIngress } from "../status/status.ts";
import { ListingIndex } from "./listing-index.ts";
import { type Adoption, adoptionOf, primaryOf } from "./ownership.ts";

/** What the listing has for a group. */
export interface Found extends Adoption {
  /** When the listing began, and when it was known (monotonic). */
  readonly beganAt: number;
  readonly knownAt: number;
  /** Further load balancers with the mark of the group. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /** It is not from a listing, so it is observed again. */
  readonly kept?: KeptObservation | undefined;
}

/** Shared: most groups have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

/** In `ObservedLoadBalancer.outdated`. */
const listed = "listed";

/** How old a listing may be when a user changes a Service. */
const sameListingFor: Milliseconds = seconds(30);

const never = Number.NEGATIVE_INFINITY;

export class FreshListing {
  readonly index: ListingIndex;
  readonly #deps: ServiceControllerDeps;
  readonly #groups: GroupStates;
  readonly #desiredServices: Pick<DesiredServices, "of">;
  /** Older listings are outdated. */
  #expiredAt = never;

  constructor(
    deps: ServiceControllerDeps,
    groups: GroupStates,
    desiredServices: Pick<DesiredServices, "of">,
  ) {
    this.index = new ListingIndex(deps.listing);
    this.#deps = deps;
    this.#groups = groups;
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

  /** The load balancer of this group. If it has none, the one that these Services request to adopt. */
  find(state: GroupState, members: readonly Service[]): Found | "not yet" {
    if (!this.#isFresh(state)) return this.#keptBy(state) ?? "not yet";
    if (state.listingRequestedAt !== undefined && this.beganAt >= state.listingRequestedAt)
      this.#groups.commit(state, { kind: "requestEnded" });
    const { balancers, services, listing } = this.#deps;
    const { adopts } = balancers;
    const all = this.index.ofGroup(state.group);
    const marked = all.length < 2 ? all[0] : primaryOf(all, (one) => this.#isInUse(one, members));
    const shared = {
      duplicates: all.length < 2 ? none : all.filter((one) => one !== marked),
      beganAt: this.beganAt,
      knownAt: this.knownAt,
    };
    if (marked !== undefined || adopts === undefined) {
      const balancer = state.isEdited && marked !== undefined ? { ...marked, outdated: [listed] } : marked;
      return { balancer, problems: [], ...shared };
    }
    const adoption = adoptionOf(
      members,
      () => services.list().filter(isManaged),
      listing.latest?.items ?? [],
      (service, balancer) => {
        const { desired } = this.#desiredServices.of(service);
        return desired.ending === undefined && adopts.call(balancers, desired, balancer);
      },
    );
    return { ...adoption, ...shared };
  }

  #keptBy(state: GroupState): Found | undefined {
    const { kept, listingRequestedAt } = state;
    if (kept === undefined || listingRequestedAt !== undefined) return undefined;
    if (!this.#isRecent(kept.listedAt, state)) return undefined;
    const { listedAt: beganAt } = kept;
    const outdated = state.isEdited ? [...kept.outdated, listed] : kept.outdated;
    const balancer = { ...kept.balancer, outdated };
    return { balancer, problems: [], duplicates: none, beganAt, knownAt: this.knownAt, kept };
  }

  /** Whether a Service has the addresses of this load balancer. */
  #isInUse(balancer: ObservedLoadBalancer, members: readonly Service[]): boolean {
    return members.some((service) => {
      const { desired } = this.#desiredServices.of(service, balancer);
      const publication = this.#deps.balancers.publish(desired, balancer);
      if (publication.kind !== "addresses" || publication.addresses.length === 0) return false;
      return isSameIngress(service.status.loadBalancer?.ingress, ingressOf(publication));
    });
  }

  /** Requests a newer listing, unless one is under way. Throws if the one that was requested failed. */
  request(state: GroupState): Outcome {
    const { clock, listing } = this.#deps;
    const { listingRequestedAt: requestedAt } = state;
    if (requestedAt !== undefined && this.beganAt < requestedAt) {
      const { failure } = listing;
      if (failure === undefined || failure.at < requestedAt) return waiting;
      this.#groups.commit(state, { kind: "requestEnded" });
      throw failure.error;
    }
    const now = clock.monotonic();
    this.#groups.commit(state, { kind: "listingRequested", at: now });
    listing.request(now, "user-change");
    return waiting;
  }

  /** Requests a newer listing in the background. No group waits for it. */
  refresh(): void {
    this.#deps.listing.request(this.#deps.clock.monotonic(), "refresh");
  }

  /** A user who changes a Service may have changed something in the cloud too. A tenant may change one all the time. */
  noteEdit(state: GroupState): void {
    if (this.#deps.clock.monotonic() - this.beganAt < sameListingFor) return;
    const isReread =
      this.#deps.balancers.rereadsListed === true && this.index.ofGroup(state.group).length === 1;
    if (isReread) this.#groups.commit(state, { kind: "edited" });
    else this.refresh();
  }

  /** A listing that began at the time of the last change may not contain it. */
  #isFresh(state: GroupState): boolean {
    return this.beganAt > (state.changedAt ?? never) && this.#isRecent(this.beganAt, state);
  }

  #isRecent(began: number, { listingRequestedAt, listingDueAt: dueAt }: GroupState): boolean {
    const { clock, settings } = this.#deps;
    const now = clock.monotonic();
    // A requested listing is fresh, however long it took to arrive and to be processed.
    const oldest = Math.min(listingRequestedAt ?? Number.POSITIVE_INFINITY, now - settings.acceptsAge);
    if (dueAt !== undefined && dueAt <= now && began < dueAt) return false;
    return began > this.#expiredAt && began >= oldest;
  }
}

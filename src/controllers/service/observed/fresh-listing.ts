// Finds the load balancer of a group in the listing that all groups share, if that is recent enough to plan on. Otherwise requests a newer
// one, which enqueues the group when it arrives.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isManaged } from "../predicates.ts";
import type { GroupState } from "../state/group-record.ts";
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
}

/** Shared: most groups have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

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
    if (!this.#isFresh(state)) return "not yet";
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
    if (marked !== undefined || adopts === undefined) return { balancer: marked, problems: [], ...shared };
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

  /** Requests a newer listing in the background, unless this one is younger than `age`. No group waits for it. */
  refresh(age: Milliseconds = milliseconds(0)): void {
    const now = this.#deps.clock.monotonic();
    if (now - this.beganAt >= age) this.#deps.listing.request(now, "refresh");
  }

  #isFresh({ listingRequestedAt, listingDueAt: dueAt, changedAt = never }: GroupState): boolean {
    const { clock, settings } = this.#deps;
    const now = clock.monotonic();
    // A requested listing is fresh, however long it took to arrive and to be processed.
    const oldest = Math.min(listingRequestedAt ?? Number.POSITIVE_INFINITY, now - settings.acceptsAge);
    const began = this.beganAt;
    if (dueAt !== undefined && dueAt <= now && began < dueAt) return false;
    // A listing that began at the time of the last change may not contain it.
    return began > this.#expiredAt && began >= oldest && began > changedAt;
  }
}

// Finds the load balancer of a group in the listing that all groups share, if that listing is recent enough to plan on.
// Otherwise requests a newer listing, which enqueues the group when it arrives.

import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isManaged } from "../predicates.ts";
import type { GroupState, GroupStates } from "../state/group-states.ts";
import { ingressOf, isSameIngress } from "../status/ingress.ts";
import { type Adoption, adoptionOf } from "./adoption.ts";
import { primaryOf } from "./duplicates.ts";
import { ListingIndex } from "./listing-index.ts";

/** What the listing has for a group. */
export interface Found extends Adoption {
  /** When the listing began (monotonic). */
  readonly beganAt: number;
  /** Further load balancers with the mark of the group. */
  readonly duplicates: readonly ObservedLoadBalancer[];
}

/** Shared: most groups have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

export class FreshListing {
  readonly index: ListingIndex;
  readonly #deps: ServiceControllerDeps;
  readonly #groups: GroupStates;
  readonly #desiredServices: Pick<DesiredServices, "of">;
  /** When this leadership session began, or when listings were forgotten in it, monotonic. */
  #began = Number.NEGATIVE_INFINITY;

  constructor(
    deps: ServiceControllerDeps,
    groups: GroupStates,
    desiredServices: Pick<DesiredServices, "of">,
  ) {
    this.index = new ListingIndex(deps);
    this.#deps = deps;
    this.#groups = groups;
    this.#desiredServices = desiredServices;
  }

  /** A leadership session begins. Older listings are outdated, because another replica may have changed anything. */
  begin(): void {
    this.#began = this.#deps.clock.monotonic();
    for (const state of this.#groups.all) state.listingRequestedAt = undefined;
  }

  /** Another account may answer from now on. */
  forget(): void {
    this.#began = this.#deps.clock.monotonic();
  }

  /** The load balancer of this group. If it has none, the one that these Services request to adopt. */
  find(state: GroupState, members: readonly Service[]): Found | "not yet" {
    const { latest } = this.#deps.listing;
    if (latest === undefined || !this.#isFresh(latest, state)) return "not yet";
    if (latest.beganAt >= (state.listingRequestedAt ?? 0)) state.listingRequestedAt = undefined;
    const { balancers, services } = this.#deps;
    const { adopts } = balancers;
    const all = this.index.ofGroup(state.group);
    const marked = all.length < 2 ? all[0] : primaryOf(all, (one) => this.#isInUse(one, members));
    const duplicates = all.length < 2 ? none : all.filter((one) => one !== marked);
    const { beganAt } = latest;
    if (marked !== undefined || adopts === undefined)
      return { balancer: marked, duplicates, problems: [], beganAt };
    const adoption = adoptionOf(
      members,
      () => services.list().filter(isManaged),
      latest.items,
      (service, balancer) => {
        const { desired } = this.#desiredServices.of(service);
        return desired.ending === undefined && adopts.call(balancers, desired, balancer);
      },
    );
    return { ...adoption, duplicates, beganAt };
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

  /** Requests a newer listing, unless one is under way. Throws if the requested one failed. */
  request(state: GroupState): Outcome {
    const { listing, clock } = this.#deps;
    const requestedAt = state.listingRequestedAt;
    // If the listing has arrived but is not recent enough, another one is needed.
    const hasArrived =
      requestedAt !== undefined && (listing.latest?.beganAt ?? Number.NEGATIVE_INFINITY) >= requestedAt;
    if (requestedAt === undefined || hasArrived) {
      const now = clock.monotonic();
      state.listingRequestedAt = now;
      listing.request(now, "user-change");
      return waiting;
    }
    if (listing.failure === undefined || listing.failure.at < requestedAt) return waiting;
    state.listingRequestedAt = undefined;
    throw listing.failure.error;
  }

  #isFresh({ beganAt }: { readonly beganAt: number }, state: GroupState): boolean {
    const { clock, settings } = this.#deps;
    // A requested listing is fresh, however long it took to arrive and to be processed.
    const requestedAt = state.listingRequestedAt ?? Number.POSITIVE_INFINITY;
    const oldest = Math.min(requestedAt, clock.monotonic() - settings.acceptsAge);
    if (beganAt <= this.#began || beganAt < oldest) return false;
    // A listing that began at the time of the last change may not contain it.
    return beganAt > (state.changedAt ?? Number.NEGATIVE_INFINITY);
  }
}

// The load balancers of the latest listing by the Service that they serve. Built once per listing, for all Services.

import type { ServiceUID } from "../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { SharedListing } from "./shared-listing.ts";

type Listed = Pick<SharedListing<ObservedLoadBalancer>, "latest">;
type Balancers = readonly ObservedLoadBalancer[];

/** Shared: most Services have no load balancer of another cluster. */
const none: Balancers = [];

export class ListingIndex {
  readonly #listing: Listed;
  #built: Listed["latest"];
  readonly #ours = new Map<ServiceUID, ObservedLoadBalancer[]>();
  readonly #foreign = new Map<ServiceUID, ObservedLoadBalancer[]>();

  constructor(listing: Listed) {
    this.#listing = listing;
  }

  get items(): Balancers {
    return this.#listing.latest?.items ?? none;
  }

  /** Those with Fairlead's mark. */
  get marked(): Balancers {
    return this.items.filter(({ ownership }) => ownership === "ours");
  }

  /** Those with Fairlead's mark for this Service: usually one. */
  of(uid: ServiceUID): Balancers {
    this.#build();
    return this.#ours.get(uid) ?? none;
  }

  /** The one with Fairlead's mark for this Service; undefined if there are several, or if another cluster has one for it. */
  onlyOneOf(uid: ServiceUID): ObservedLoadBalancer | undefined {
    const [one, ...others] = this.of(uid);
    return others.length === 0 && this.foreignOf(uid).length === 0 ? one : undefined;
  }

  /** Those with another cluster's mark for this Service. */
  foreignOf(uid: ServiceUID): Balancers {
    this.#build();
    return this.#foreign.get(uid) ?? none;
  }

  #build(): void {
    const { latest } = this.#listing;
    if (latest === this.#built) return;
    this.#built = latest;
    this.#ours.clear();
    this.#foreign.clear();
    for (const balancer of this.items) {
      const { owners, ownership } = balancer;
      if (ownership === "unmarked") continue;
      const byOwner = ownership === "ours" ? this.#ours : this.#foreign;
      for (const uid of owners) {
        const known = byOwner.get(uid);
        if (known === undefined) byOwner.set(uid, [balancer]);
        // A listing whose pages shift while it is read repeats some load balancers. Those are not second ones.
        else if (!known.some(({ name }) => name === balancer.name)) known.push(balancer);
      }
    }
  }
}

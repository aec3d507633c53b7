// The load balancers of the latest listing by group and by owner. Built once per listing, for all groups.

import type { ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { BalancerListing } from "../deps.ts";

type Listed = Pick<BalancerListing, "latest">;
type Balancers = readonly ObservedLoadBalancer[];

export class ListingIndex {
  readonly #listing: Listed;
  #built: Listed["latest"];
  readonly #byGroup = new Map<string, ObservedLoadBalancer[]>();
  readonly #groupsOf = new Map<ServiceUID, Set<string>>();
  readonly #foreignOf = new Map<ServiceUID, ObservedLoadBalancer[]>();

  constructor(listing: Listed) {
    this.#listing = listing;
  }

  get items(): Balancers {
    return this.#listing.latest?.items ?? [];
  }

  /** Those with Fairlead's mark. */
  get marked(): Balancers {
    return this.items.filter(({ ownership }) => ownership === "ours");
  }

  /** Those with Fairlead's mark for this group: usually one. */
  ofGroup(group: string): Balancers {
    this.#build();
    return this.#byGroup.get(group) ?? [];
  }

  /** The one with Fairlead's mark for this group; undefined if there are several, or if another cluster has one for its owners. */
  onlyOneOf(group: string): ObservedLoadBalancer | undefined {
    const [one, ...others] = this.ofGroup(group);
    const isOnlyOne = others.length === 0 && one?.owners.every((uid) => this.foreignOf(uid).length === 0);
    return isOnlyOne === true ? one : undefined;
  }

  /** Those with another cluster's mark that serve this Service. */
  foreignOf(uid: ServiceUID): Balancers {
    this.#build();
    return this.#foreignOf.get(uid) ?? [];
  }

  /** The owners of everything that is listed for this group. */
  ownersIn(group: string): readonly ServiceUID[] {
    const [first, ...others] = this.ofGroup(group);
    if (first === undefined) return [];
    return others.length === 0 ? first.owners : [first, ...others].flatMap(({ owners }) => owners);
  }

  /** Whether the owner has a load balancer in another group. */
  isElsewhere(uid: ServiceUID, group: string): boolean {
    this.#build();
    for (const other of this.#groupsOf.get(uid) ?? []) if (other !== group) return true;
    return false;
  }

  #build(): void {
    const { latest } = this.#listing;
    if (latest === this.#built) return;
    this.#built = latest;
    this.#byGroup.clear();
    this.#groupsOf.clear();
    this.#foreignOf.clear();
    for (const balancer of this.items) this.#add(balancer);
  }

  #add(balancer: ObservedLoadBalancer): void {
    const { group, owners, ownership } = balancer;
    if (ownership === "foreign")
      for (const uid of owners) this.#foreignOf.set(uid, [...(this.#foreignOf.get(uid) ?? []), balancer]);
    if (ownership !== "ours") return;
    const known = this.#byGroup.get(group);
    if (known === undefined) this.#byGroup.set(group, [balancer]);
    // A listing whose pages shift while it is read repeats some load balancers. Those are not second ones.
    else if (!known.some((other) => isSame(other, balancer))) known.push(balancer);
    for (const uid of owners) this.#groupsOf.set(uid, (this.#groupsOf.get(uid) ?? new Set()).add(group));
  }
}

function isSame(one: ObservedLoadBalancer, other: ObservedLoadBalancer): boolean {
  if (one.name !== undefined || other.name !== undefined) return one.name === other.name;
  return JSON.stringify(one) === JSON.stringify(other);
}

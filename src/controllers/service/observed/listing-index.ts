// The marked load balancers of the latest listings by group and by owner, and the part of the cloud that lists each of them. Built
// once per listing, because all groups use it.

import type { PartListings } from "../../../cloud/part-listings.ts";
import type { ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

type Listings = Pick<PartListings<ObservedLoadBalancer>, "latest" | "parts">;

export class ListingIndex {
  readonly #listing: Listings;
  #built: Listings["latest"];
  readonly #byGroup = new Map<string, ObservedLoadBalancer[]>();
  readonly #groupsOf = new Map<ServiceUID, Set<string>>();
  readonly #parts = new Map<ObservedLoadBalancer, string>();

  constructor({ listing }: { readonly listing: Listings }) {
    this.#listing = listing;
  }

  /** The load balancers with Fairlead's mark for this group: usually one. */
  ofGroup(group: string): readonly ObservedLoadBalancer[] {
    this.#build();
    return this.#byGroup.get(group) ?? [];
  }

  /** The part that lists this load balancer. */
  partOf(balancer: ObservedLoadBalancer): string | undefined {
    this.#build();
    return this.#parts.get(balancer);
  }

  /** The parts that list load balancers with Fairlead's mark for this group. */
  partsOf(group: string): readonly string[] {
    const all = this.ofGroup(group);
    const parts = all.flatMap((balancer) => this.#parts.get(balancer) ?? []);
    return all.length < 2 ? parts : [...new Set(parts)];
  }

  /** The owners of everything that these parts list for this group; of all parts by default. */
  ownersIn(group: string, parts?: ReadonlySet<string>): readonly ServiceUID[] {
    const all = this.ofGroup(group);
    const listed = parts === undefined ? all : all.filter((one) => parts.has(this.#parts.get(one) ?? ""));
    const [first, ...others] = listed;
    if (first === undefined) return [];
    return others.length === 0 ? first.owners : listed.flatMap(({ owners }) => owners);
  }

  /** Whether the owner has a load balancer in another group. */
  isElsewhere(uid: ServiceUID, group: string): boolean {
    this.#build();
    for (const other of this.#groupsOf.get(uid) ?? []) if (other !== group) return true;
    return false;
  }

  #build(): void {
    const { latest, parts } = this.#listing;
    if (latest === this.#built) return;
    this.#built = latest;
    this.#byGroup.clear();
    this.#groupsOf.clear();
    this.#parts.clear();
    for (const { name, listing } of parts) {
      for (const balancer of listing.latest?.items ?? []) this.#add(name, balancer);
    }
  }

  #add(part: string, balancer: ObservedLoadBalancer): void {
    this.#parts.set(balancer, part);
    if (balancer.ownership !== "ours") return;
    const { group, owners } = balancer;
    const known = this.#byGroup.get(group);
    if (known === undefined) this.#byGroup.set(group, [balancer]);
    // A listing whose pages shift while it is read repeats some load balancers. Those are not second ones.
    else if (!known.some((other) => this.#parts.get(other) === part && isSame(other, balancer)))
      known.push(balancer);
    for (const uid of owners) {
      const groups = this.#groupsOf.get(uid) ?? new Set();
      this.#groupsOf.set(uid, groups.add(group));
    }
  }
}

function isSame(one: ObservedLoadBalancer, other: ObservedLoadBalancer): boolean {
  if (one.name !== undefined || other.name !== undefined) return one.name === other.name;
  return JSON.stringify(one) === JSON.stringify(other);
}

// The marked load balancers of the latest listing by group and by owner. Built once per listing, because all groups use it.

import type { SharedListing } from "../../../cloud/shared-listing.ts";
import type { ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

export class ListingIndex {
  readonly #listing: Pick<SharedListing<ObservedLoadBalancer>, "latest">;
  #built: SharedListing<ObservedLoadBalancer>["latest"];
  readonly #byGroup = new Map<string, ObservedLoadBalancer[]>();
  readonly #groupsOf = new Map<ServiceUID, Set<string>>();

  constructor({ listing }: { readonly listing: Pick<SharedListing<ObservedLoadBalancer>, "latest"> }) {
    this.#listing = listing;
  }

  /** The load balancers with Fairlead's mark for this group: usually one. */
  ofGroup(group: string): readonly ObservedLoadBalancer[] {
    this.#build();
    return this.#byGroup.get(group) ?? [];
  }

  /** The owners of everything that the listing has for this group. */
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
    for (const balancer of latest?.items ?? []) {
      if (balancer.ownership !== "ours") continue;
      const { group, owners } = balancer;
      add(this.#byGroup, group, balancer);
      for (const uid of owners) {
        const groups = this.#groupsOf.get(uid) ?? new Set();
        this.#groupsOf.set(uid, groups.add(group));
      }
    }
  }
}

/** A listing whose pages shift while it is read repeats some load balancers. Those are not second ones. */
function add(map: Map<string, ObservedLoadBalancer[]>, key: string, value: ObservedLoadBalancer): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else if (!known.some((other) => isSame(other, value))) known.push(value);
}

function isSame(one: ObservedLoadBalancer, other: ObservedLoadBalancer): boolean {
  if (one.name !== undefined || other.name !== undefined) return one.name === other.name;
  return JSON.stringify(one) === JSON.stringify(other);
}

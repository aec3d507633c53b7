// Assigns listed load balancers to the Services that own them, for clouds that cannot store an owner: by an id on the Service, or
// by a name derived from the Service's uid. All other clouds mark the load balancer itself. Pure.

import type { ServiceUID } from "../../core/brand.ts";
import type { MarkingService, ObservedLoadBalancer } from "../../provider/load-balancers.ts";

/** A Service that may own a load balancer. */
export interface PossibleOwner extends MarkingService {
  /**
   * Managers add the finalizer before they adopt or create a load balancer. Without the finalizer, an id on the Service is only a
   * request to adopt.
   */
  readonly hasFinalizer: boolean;
  /** Users can write any id on a Service, but only a manager writes the addresses in its status. */
  readonly addresses: readonly string[];
  readonly hasHostname: boolean;
  readonly createdAt: string;
}

type OwnKeys = ((service: MarkingService) => readonly string[]) | undefined;

/** Expects all listed load balancers. Without `ownKeys`, they already have owners. */
export function withOwners(
  listed: readonly ObservedLoadBalancer[],
  ownKeys: OwnKeys,
  services: () => readonly PossibleOwner[],
): readonly ObservedLoadBalancer[] {
  if (ownKeys === undefined) return listed;
  const all = services();
  const uids = new Set(all.map(({ owner }) => owner.uid));
  const byKey = new Map<string, PossibleOwner[]>();
  const withoutID: PossibleOwner[] = [];
  for (const service of all) {
    const keys = new Set(ownKeys(service));
    for (const key of keys) byKey.set(key, [...(byKey.get(key) ?? []), service]);
    if (keys.size === 1 && service.hasFinalizer) withoutID.push(service);
  }
  const claimsOf = (key: string | undefined) => (key === undefined ? [] : (byKey.get(key) ?? []));
  const named = new Set(listed.flatMap(({ keys }) => claimsOf(keys?.[0])).map(({ owner }) => owner.uid));
  return listed.map((balancer) => {
    const { keys: [name, ...ids] = [], ownership, owners } = balancer;
    const requests = ids.flatMap(claimsOf);
    // A different id on a Service that has a load balancer does not add a second load balancer, which would be deleted with the
    // Service.
    const mayOwn = (one: PossibleOwner): boolean =>
      ownership === "foreign" ||
      (one.hasFinalizer && (!named.has(one.owner.uid) || closeness(one, balancer) === 0));
    // A user has removed the id, for example with kubectl replace. The address is still in the status.
    const others = requests.length > 0 ? [] : withoutID.filter((one) => closeness(one, balancer) === 0);
    const [own = ownerByID([...requests, ...others].filter(mayOwn), balancer)] = claimsOf(name);
    if (own !== undefined) return ownedBy(balancer, own.owner.uid);
    // An existing Service that does not claim the load balancer has given it up.
    const isFree = requests.length > 0 || owners.some((uid) => uids.has(uid));
    return isFree && ownership === "ours" ? { ...balancer, ownership: "unmarked", owners: [] } : balancer;
  });
}

/** Lower is closer: the Service's address, an unknown address, no address yet, another load balancer's address. */
function closeness({ addresses, hasHostname }: PossibleOwner, balancer: ObservedLoadBalancer): number {
  if (addresses.some((address) => balancer.addresses?.includes(address) === true)) return 0;
  if (hasHostname) return 1;
  return addresses.length === 0 ? 2 : 3;
}

/** The closest Service with this id. A copy that has the same address is younger. Undefined if the result is ambiguous. */
function ownerByID(
  claims: readonly PossibleOwner[],
  balancer: ObservedLoadBalancer,
): PossibleOwner | undefined {
  const closest = Math.min(...claims.map((one) => closeness(one, balancer)));
  const close = claims.filter((one) => closeness(one, balancer) === closest);
  const [first, second] = close.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  const isCertain = second === undefined || (closest === 0 && first?.createdAt !== second.createdAt);
  return isCertain ? first : undefined;
}

function ownedBy(balancer: ObservedLoadBalancer, uid: ServiceUID): ObservedLoadBalancer {
  const ownership = balancer.ownership === "foreign" ? "foreign" : "ours";
  return { ...balancer, ownership, owners: [uid] };
}

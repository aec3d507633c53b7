// Gives the listed load balancers of a cloud without a place for the owner the Services that own them: by an id that is stored on the
// Service, or by a name made of its uid. All other clouds mark the load balancer itself. Pure.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { MarkingService, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { FactPlace, Facts } from "../../../provider/plan.ts";
import { readFacts } from "../desired/facts.ts";
import { defaultLoadBalancerName } from "../desired/to-desired.ts";
import { isManaged } from "../predicates.ts";

/** A Service that may own a load balancer. */
interface PossibleOwner {
  readonly uid: ServiceUID;
  readonly facts: Facts;
  /** Users can write any id on a Service, but only a manager writes its status. */
  readonly hasAddress: boolean;
}

type OwnKeys = ((service: MarkingService) => readonly string[]) | undefined;

export function possibleOwners(
  services: readonly Service[],
  facts: Readonly<Record<string, FactPlace>>,
): readonly PossibleOwner[] {
  return services.filter(isManaged).map((service) => ({
    uid: serviceUID(service.metadata.uid),
    facts: readFacts(service, facts),
    hasAddress: (service.status.loadBalancer?.ingress ?? []).length > 0,
  }));
}

/** Without `ownKeys`, the load balancers have their owners already. */
export function withOwners(
  listed: readonly ObservedLoadBalancer[],
  ownKeys: OwnKeys,
  services: () => readonly PossibleOwner[],
): readonly ObservedLoadBalancer[] {
  if (ownKeys === undefined) return listed;
  const all = services();
  const uids = new Set(all.map(({ uid }) => uid));
  const byKey = new Map<string, PossibleOwner[]>();
  for (const service of all) {
    const defaultName = defaultLoadBalancerName(service.uid);
    for (const key of new Set(ownKeys({ defaultName, facts: service.facts }))) {
      byKey.set(key, [...(byKey.get(key) ?? []), service]);
    }
  }
  return listed.map((balancer) => {
    const { keys = [], ownership, owners } = balancer;
    const claims = keys.map((key) => byKey.get(key) ?? []).find((claim) => claim.length > 0) ?? [];
    const served = claims.filter(({ hasAddress }) => hasAddress);
    const [owner, rival] = served.length > 0 ? served : claims;
    if (owner !== undefined && rival === undefined) return ownedBy(balancer, owner.uid);
    // An existing Service that does not claim it has given it up.
    const isFree = owner !== undefined || owners.some((uid) => uids.has(uid));
    return isFree && ownership === "ours" ? { ...balancer, ownership: "unmarked", owners: [] } : balancer;
  });
}

function ownedBy(balancer: ObservedLoadBalancer, uid: ServiceUID): ObservedLoadBalancer {
  const ownership = balancer.ownership === "foreign" ? "foreign" : "ours";
  return { ...balancer, ownership, owners: [uid], group: defaultLoadBalancerName(uid) };
}

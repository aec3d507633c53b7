// Gives the listed load balancers of a cloud without a place for the owner the Services that own them: by an id that is stored on the
// Service, or by a name made of its uid. All other clouds mark the load balancer itself.

import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { MarkingService, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { FactPlace } from "../../../provider/plan.ts";
import { readFacts } from "../desired/facts.ts";
import { defaultLoadBalancerName } from "../desired/to-desired.ts";
import { isManaged } from "../predicates.ts";

export interface MarkContext {
  readonly balancers: { ownKeys?(service: MarkingService): readonly string[] };
  readonly services: () => readonly Service[];
  readonly facts: Readonly<Record<string, FactPlace>>;
}

/** The pages of a listing, with owners. */
export async function* listWithOwners(
  pages: AsyncIterable<readonly ObservedLoadBalancer[]>,
  context: MarkContext,
): AsyncIterable<readonly ObservedLoadBalancer[]> {
  const { ownKeys } = context.balancers;
  for await (const page of pages) yield ownKeys === undefined ? page : withOwners(page, context);
}

/** Pure. */
export function withOwners(
  page: readonly ObservedLoadBalancer[],
  { balancers, services, facts }: MarkContext,
): readonly ObservedLoadBalancer[] {
  const managed = services().filter(isManaged);
  const uids = new Set(managed.map(({ metadata }) => serviceUID(metadata.uid)));
  const byKey = new Map<string, Service[]>();
  for (const service of managed) {
    const defaultName = defaultLoadBalancerName(serviceUID(service.metadata.uid));
    for (const key of balancers.ownKeys?.({ defaultName, facts: readFacts(service, facts) }) ?? []) {
      byKey.set(key, [...(byKey.get(key) ?? []), service]);
    }
  }
  return page.map((balancer) => {
    const { keys = [], ownership, owners } = balancer;
    const claims = keys.map((key) => byKey.get(key) ?? []).find((services) => services.length > 0) ?? [];
    const [first, second] = decided(claims);
    if (first !== undefined && second === undefined) return ownedBy(balancer, first);
    // An existing Service that does not claim it has given it up.
    const isFree = first !== undefined || owners.some((uid) => uids.has(uid));
    return isFree && ownership === "ours" ? { ...balancer, ownership: "unmarked", owners: [] } : balancer;
  });
}

/** Users can write any id on a Service, but only a manager writes its status. */
function decided(claims: readonly Service[]): readonly Service[] {
  const served = claims.filter(({ status }) => (status.loadBalancer?.ingress ?? []).length > 0);
  return served.length > 0 ? served : claims;
}

function ownedBy(balancer: ObservedLoadBalancer, { metadata }: Service): ObservedLoadBalancer {
  const uid = serviceUID(metadata.uid);
  const ownership = balancer.ownership === "foreign" ? "foreign" : "ours";
  return { ...balancer, ownership, owners: [uid], group: defaultLoadBalancerName(uid) };
}

// What the marks in the latest listing say about owners: whether the cloud still has something of a Service.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { GroupStates } from "../state/group-states.ts";

/** Load balancers in the latest listing that carry our mark. */
export function markedBalancers({
  listing,
}: Pick<ServiceControllerDeps, "listing">): readonly ObservedLoadBalancer[] {
  return (listing.latest?.items ?? []).filter(({ ownership }) => ownership === "ours");
}

/** Whether another group has, or may have, something of this owner. */
export function isLeftElsewhere(
  deps: Pick<ServiceControllerDeps, "listing">,
  groups: GroupStates,
  uid: ServiceUID,
  group: string,
): boolean {
  return (
    groups.isReleasePendingElsewhere(uid, group) ||
    markedBalancers(deps).some((balancer) => balancer.group !== group && balancer.owners.includes(uid))
  );
}

/** Whether a Service that exists uses this load balancer, apart from those known to be gone. Then it must not be deleted. */
export function isStillUsed(
  { services }: Pick<ServiceControllerDeps, "services">,
  observed: ObservedLoadBalancer | undefined,
  gone: readonly ServiceUID[],
): boolean {
  const staying = new Set((observed?.owners ?? []).filter((uid) => !gone.includes(uid)));
  return staying.size > 0 && services.list().some(({ metadata }) => staying.has(serviceUID(metadata.uid)));
}

// Reads from the marks in the latest listing which Services own load balancers in the cloud.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { shortList } from "../../../core/text.ts";
import { keyOf } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { GroupStates } from "../state/group-states.ts";

/** Load balancers in the latest listing that carry Fairlead's mark. */
export function markedBalancers({
  listing,
}: Pick<ServiceControllerDeps, "listing">): readonly ObservedLoadBalancer[] {
  return (listing.latest?.items ?? []).filter(({ ownership }) => ownership === "ours");
}

/** Whether another group has, or may have, a load balancer of this owner. */
export function isLeftElsewhere(
  { listing }: Pick<ServiceControllerDeps, "listing">,
  groups: GroupStates,
  uid: ServiceUID,
  group: string,
): boolean {
  return (
    groups.isReleasePendingElsewhere(uid, group) ||
    (listing.latest?.items ?? []).some(
      (balancer) =>
        balancer.ownership === "ours" && balancer.group !== group && balancer.owners.includes(uid),
    )
  );
}

/** Whether an existing Service, other than those known to be gone, uses this load balancer. Then it must not be deleted. */
export function isStillUsed(
  { services }: Pick<ServiceControllerDeps, "services">,
  observed: ObservedLoadBalancer | undefined,
  gone: readonly ServiceUID[],
): boolean {
  const staying = new Set((observed?.owners ?? []).filter((uid) => !gone.includes(uid)));
  return staying.size > 0 && services.list().some(({ metadata }) => staying.has(serviceUID(metadata.uid)));
}

/** The existing Services that a load balancer serves, for messages. */
export function nameOwners(
  services: ServiceControllerDeps["services"],
  { owners }: ObservedLoadBalancer,
): string {
  const named = services.list().filter(({ metadata }) => owners.includes(serviceUID(metadata.uid)));
  return shortList(named.map(({ metadata }) => keyOf(metadata)));
}

// What the marks in the shared listing say about owners: whether a load balancer still holds something of a Service.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { ServiceDeps } from "../deps.ts";
import type { Groups } from "../state/groups.ts";

/** Load balancers in the latest listing that carry our mark. */
export function markedBalancers({ listing }: Pick<ServiceDeps, "listing">): readonly ObservedLoadBalancer[] {
  return (listing.latest?.items ?? []).filter(({ ownership }) => ownership === "ours");
}

/** Whether anything is left, or may be left, of this owner in another group. */
export function isLeftElsewhere(
  deps: Pick<ServiceDeps, "listing">,
  groups: Pick<Groups, "owesElsewhere">,
  uid: ServiceUID,
  group: string,
): boolean {
  return (
    groups.owesElsewhere(uid, group) ||
    markedBalancers(deps).some((one) => one.group !== group && one.owners.includes(uid))
  );
}

/** Whether an existing Service uses this load balancer, apart from those known to be gone: then none of it may be removed. */
export function isStillUsed(
  { services }: Pick<ServiceDeps, "services">,
  observed: ObservedLoadBalancer | undefined,
  gone: readonly ServiceUID[],
): boolean {
  const staying = new Set((observed?.owners ?? []).filter((uid) => !gone.includes(uid)));
  return staying.size > 0 && services.list().some(({ metadata }) => staying.has(serviceUID(metadata.uid)));
}

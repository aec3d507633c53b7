// When `LoadBalancers.observe` is called before a plan: if the listing has nothing for the group, or only a shallow object. Pure.

import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

export function needsLookup(
  listed: Pick<ObservedLoadBalancer, "shallow"> | undefined,
  members: number,
): boolean {
  // Without a Service and without what is listed, a lookup has nothing to look for.
  return listed === undefined ? members > 0 : listed.shallow === true;
}

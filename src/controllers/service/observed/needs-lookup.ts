// Whether a provider with `observe` must look a load balancer up before a plan, because the listing does not show enough of it. Pure.

import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

export function needsLookup(
  listed: Pick<ObservedLoadBalancer, "shallow" | "outdated"> | undefined,
  desired: unknown,
): boolean {
  // Without a Service and without what is listed, a lookup has nothing to look for.
  if (listed === undefined) return desired !== undefined;
  return listed.shallow === true || listed.outdated !== undefined;
}

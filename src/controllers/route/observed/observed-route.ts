// Decides for one observed route whether it leads to a Node, and whether Fairlead may change it. Pure.

import type { Cidr } from "../../../core/brand.ts";
import type { ObservedRoute, RouteTarget } from "../../../provider/routes.ts";
import { isInsideCluster } from "../desired/cluster-cidrs.ts";
import type { Exempt } from "../desired/plan-desired.ts";

/** `unknown`: too little is known to compare; such a route must not be removed. */
export type Match = "same" | "different" | "unknown";

/**
 * Whether the route leads to this target, by everything that the cloud reports about it. The instance takes
 * precedence over the name: an instance may have another name than its Node.
 */
export function matchTarget(target: RouteTarget, route: ObservedRoute): Match {
  const { targetKey, targetName, targetAddress } = route;
  if (route.leadsNowhere === true) return "different";
  const found: Match[] = [];
  if (targetKey !== undefined) {
    found.push(target.machine === undefined ? "unknown" : equal(targetKey, target.machine.key));
  } else if (targetName !== undefined) {
    found.push(equal(targetName, target.node));
  }
  if (targetAddress !== undefined) {
    const { addresses } = target;
    found.push(addresses.length === 0 ? "unknown" : equal(addresses.includes(targetAddress), true));
  }
  if (found.length === 0 || found.includes("different")) return "different";
  return found.includes("same") ? "same" : "unknown";
}

/** Each route once: a listing whose pages shift while it is read repeats some. */
export function withoutRepeats(routes: readonly ObservedRoute[]): readonly ObservedRoute[] {
  const seen = new Set<string>();
  return routes.filter((route) => {
    const identity = identityOf(route);
    if (seen.has(identity)) return false;
    seen.add(identity);
    return true;
  });
}

export function identityOf(route: ObservedRoute): string {
  const { handle, destination, targetKey, targetName, targetAddress } = route;
  return JSON.stringify([handle, destination, targetKey, targetName, targetAddress]);
}

const equal = <T>(one: T, other: T): Match => (one === other ? "same" : "different");

/** Whether the route carries Fairlead's mark, or is in a table without marks; in any case only inside the cluster's ranges. */
export function isManaged(
  { ownership, destination }: Pick<ObservedRoute, "ownership" | "destination">,
  clusterCIDRs: readonly Cidr[],
): boolean {
  return ownership !== "foreign" && isInsideCluster(clusterCIDRs, destination);
}

/** Whether the route leads to, or is for a range of, a Node whose routes must not be changed. */
export function isExempt(exempt: Exempt, route: ObservedRoute): boolean {
  return (
    exempt.destinations.has(route.destination) ||
    (route.targetKey !== undefined && exempt.keys.has(route.targetKey)) ||
    (route.targetName !== undefined && exempt.names.has(route.targetName)) ||
    (route.targetAddress !== undefined && exempt.addresses.has(route.targetAddress))
  );
}

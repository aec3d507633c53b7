// Which routes we may touch at all: those that carry our mark, or lie in a table that has no marks, and in any case only
// inside the cluster's ranges. Pure.

import type { Cidr } from "../../../core/brand.ts";
import { cidrContains } from "../../../core/cidr.ts";
import type { ObservedRoute } from "../../../provider/routes.ts";

/** Both ends of it: a range that only touches the cluster's is somebody else's (upstream is content with one end). */
export function isInside(clusterCIDRs: readonly Cidr[], range: Cidr): boolean {
  return clusterCIDRs.some((cluster) => cidrContains(cluster, range));
}

export function isOurs(
  { ownership, destination }: Pick<ObservedRoute, "ownership" | "destination">,
  clusterCIDRs: readonly Cidr[],
): boolean {
  return ownership !== "foreign" && isInside(clusterCIDRs, destination);
}

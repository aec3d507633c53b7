// Counts the routes of Nodes without a known instance that a listing lacks. They are not planned, but show that the listing is
// wrong: an account that shows nothing lacks instances and routes.

import { cidrFamily } from "../../../core/cidr.ts";
import type { TableOptions } from "../deps.ts";
import { isInsideCluster } from "../desired/cluster-cidrs.ts";
import { podCIDRsOf } from "../desired/plan-desired.ts";
import type { Survey } from "../plan/survey.ts";
import { hadRoutes } from "./route-evidence.ts";

export function unplannedAbsence(
  { table, routes, clusterCIDRs }: Pick<TableOptions, "table" | "routes" | "clusterCIDRs">,
  { desired, listing }: Pick<Survey, "desired" | "listing">,
): number {
  // Of several tables, the Node's condition does not say which ones had its routes.
  if (table !== undefined) return 0;
  const listed = new Set(listing.routes.map(({ destination }) => destination));
  const ranges = desired.waiting.filter(hadRoutes).flatMap(podCIDRsOf);
  return ranges.filter(
    ({ range }) =>
      range !== undefined &&
      routes.families.includes(cidrFamily(range)) &&
      isInsideCluster(clusterCIDRs, range) &&
      !listed.has(range),
  ).length;
}

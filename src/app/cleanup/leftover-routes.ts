// Which routes a cluster left: those that the route controller may change, in the ranges of the cluster, and that lead to no existing
// Node. Pure.

import { type Exempt, planDesiredRoutes } from "../../controllers/route/desired/plan-desired.ts";
import type { RouteListing } from "../../controllers/route/observed/table-listing.ts";
import { planRoutes, type RoutePlan } from "../../controllers/route/plan/plan.ts";
import type { Cidr } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import type { AnyCloud } from "../connect-cloud.ts";

/** Every existing Node counts as one whose routes must not be changed. */
function exemptionOf(nodes: readonly Node[], { instances }: AnyCloud, clusterCIDRs: readonly Cidr[]): Exempt {
  return planDesiredRoutes({
    nodes,
    isSelected: () => false,
    machineOf: () => ({ kind: "foreign" }),
    keysOf: ({ spec: { providerID = "" } }) =>
      (instances?.sources ?? []).flatMap((source) => source.keyOf(providerID) ?? []),
    clusterCIDRs,
    tables: [],
    table: undefined,
  }).exempt;
}

/** Plans that only remove. */
export function removalPlanner(
  nodes: readonly Node[],
  cloud: AnyCloud,
  clusterCIDRs: readonly Cidr[],
): (listing: RouteListing, table: string | undefined) => RoutePlan {
  const exempt = exemptionOf(nodes, cloud, clusterCIDRs);
  return ({ routes: observed }, table) => planRoutes({ desired: [], observed, exempt, clusterCIDRs, table });
}

// What a cluster left in a cloud: everything with its mark, with the reason why an object stays.

import { identityOf } from "../../cloud/own-route-changes.ts";
import type { RoutePlan } from "../../controllers/route/plan/plan.ts";
import { nameOf } from "../../controllers/service/observed/ownership.ts";
import type { Cidr } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { AnyCloud, AnyProvider } from "../../provider/provider.ts";
import type { ObservedRoute } from "../../provider/routes.ts";
import type { ClusterState } from "./cluster-state.ts";
import {
  addressesOf,
  type Leftover,
  type LeftoverBalancer,
  type LeftoverRoute,
  removalPlanner,
  type Selection,
  whyKept,
} from "./leftovers.ts";
import { type CloudListing, type ListedTable, listCloud } from "./list-cloud.ts";

export interface SurveyOptions {
  readonly provider: AnyProvider;
  readonly clusterName: string;
  readonly cloud: AnyCloud;
  readonly cluster: ClusterState;
  readonly selection: Selection;
  /** Empty: no routes are listed. */
  readonly clusterCIDRs: readonly Cidr[];
  readonly clock: Clock;
}

export interface PlannedTable extends ListedTable {
  readonly plan: RoutePlan;
}

export interface Survey {
  readonly leftovers: readonly Leftover[];
  readonly tables: readonly PlannedTable[];
  /** What could not be listed, and why. */
  readonly problems: readonly string[];
  /** Load balancers without the mark of this cluster. */
  readonly others: number;
}

export async function takeSurvey(options: SurveyOptions, call: Call): Promise<Survey> {
  const { cloud, cluster, clusterCIDRs, clock, selection } = options;
  const hasRoutes = clusterCIDRs.length > 0 && selection.owners.size === 0;
  const listing = await listCloud(hasRoutes ? cloud : { loadBalancers: cloud.loadBalancers }, clock, call);
  const remove = removalPlanner(cluster.kind === "read" ? cluster.nodes : [], cloud, clusterCIDRs);
  const tables = listing.tables.map((listed) => ({
    ...listed,
    plan: remove(listed.listing, listed.table.name),
  }));
  const balancers = balancersOf(options, listing);
  return {
    leftovers: [...balancers, ...tables.flatMap(routesOf)],
    tables,
    problems: listing.problems,
    others: listing.balancers.length - balancers.length,
  };
}

function balancersOf(
  { provider, clusterName, cloud: { loadBalancers }, cluster, selection }: SurveyOptions,
  { balancers: listed }: CloudListing,
): readonly LeftoverBalancer[] {
  if (loadBalancers === undefined) return [];
  const marksNameCluster = loadBalancers.marksNameCluster !== false;
  return listed.flatMap((balancer) => {
    const isNamesake = balancer.ownership === "foreign" && balancer.cluster === clusterName;
    if (balancer.ownership !== "ours" && !isNamesake) return [];
    const addresses = addressesOf(provider, loadBalancers, balancer);
    const facts = { balancer, addresses, marksNameCluster };
    return {
      what: "load balancer",
      key: `load balancer ${balancer.group} ${nameOf(balancer)}`,
      name: nameOf(balancer),
      place: undefined,
      owners: balancer.owners,
      addresses,
      kept: whyKept(facts, cluster, selection),
      balancer,
    };
  });
}

export const routeKey = (table: string | undefined, route: ObservedRoute): string =>
  `route ${table ?? ""} ${identityOf(route)}`;

function routesOf({ table: { name: place }, plan }: PlannedTable): readonly LeftoverRoute[] {
  return plan.remove.map((route) => ({
    what: "route",
    key: routeKey(place, route),
    name: route.destination,
    place,
    owners: [route.targetName ?? route.targetKey ?? route.targetAddress ?? "nowhere"],
    addresses: [],
    kept: undefined,
    route,
  }));
}

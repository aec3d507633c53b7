// Lists the load balancers and routes of a cloud, and compares them with the cluster: leftovers,
// and retained objects with the reason. Failed listings are returned as problems.

import { callOf, type Operator } from "../../app/operator.ts";
import { type RouteTable, routeTablesOf } from "../../cloud/ideal-route-tables.ts";
import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { listTable, type RouteListing } from "../../controllers/route/observe/table-listing.ts";
import type { RoutePlan } from "../../controllers/route/plan/plan.ts";
import { inTable } from "../../controllers/route/tables.ts";
import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { tablesOf } from "../../provider/route-tables.ts";
import type { ClusterState } from "./cluster-state.ts";
import {
  type Leftover,
  type LeftoverSelection,
  leftoverOf,
  leftRoutes,
  removalPlanner,
} from "./leftovers.ts";

export interface ListedTable {
  readonly table: RouteTable;
  readonly listing: RouteListing;
}

export interface CloudListing {
  readonly balancers: readonly ObservedLoadBalancer[];
  readonly tables: readonly ListedTable[];
  /** Failed listings, and why. */
  readonly problems: readonly string[];
}

export async function listCloud(
  { loadBalancers, routes }: Pick<AnyCloud, "loadBalancers" | "routes">,
  clock: Clock,
  call: Call,
): Promise<CloudListing> {
  const problems: string[] = [];
  const orProblem = async <T>(what: string, list: () => Promise<readonly T[]>): Promise<readonly T[]> => {
    try {
      return await list();
    } catch (error) {
      call.signal.throwIfAborted();
      problems.push(`${what} could not be listed: ${messageOf(error)}`);
      return [];
    }
  };
  const listBalancers = orProblem("Load balancers", async () => {
    const all: ObservedLoadBalancer[] = [];
    for await (const page of loadBalancers?.list(call) ?? []) all.push(...page);
    return all;
  });
  const listTables = (routes === undefined ? [] : routeTablesOf(routes, clock)).map((table) =>
    orProblem(`Routes${inTable(table.name)}`, async () => [
      { table, listing: await listTable(table, clock, { ...call, urgency: "refresh" }) },
    ]),
  );
  const [balancers, ...tables] = await Promise.all([listBalancers, ...listTables]);
  return { balancers, tables: tables.flat(), problems };
}

/** How long a listing may still show deleted objects. */
export function readsLagOf({ routes }: AnyCloud): Milliseconds | undefined {
  const lags = routes === undefined ? [] : tablesOf(routes).map((table) => table.routes.readsLag ?? 0);
  const longest = Math.max(0, ...lags);
  return longest > 0 ? milliseconds(longest) : undefined;
}

export interface CleanupSurvey {
  readonly cluster: ClusterState;
  readonly leftovers: readonly Leftover[];
  readonly tables: readonly (ListedTable & { readonly plan: RoutePlan })[];
  /** Failed listings, and why. */
  readonly problems: readonly string[];
  /** The number of load balancers without the mark of this cluster. */
  readonly others: number;
}

export async function takeSurvey(
  { provider, settings: { flags }, platform: { clock }, signal }: Operator,
  cloud: AnyCloud,
  cluster: ClusterState,
  selection: LeftoverSelection,
): Promise<CleanupSurvey> {
  const ranges = readClusterCIDRs(flags["cluster-cidr"]);
  const isWithRoutes =
    flags["configure-cloud-routes"] && ranges.kind === "run" && selection.owners.size === 0;
  const clusterCIDRs = isWithRoutes ? ranges.cidrs : [];
  const { loadBalancers } = cloud;
  const listed = clusterCIDRs.length > 0 ? cloud : { loadBalancers };
  const { problems, balancers, tables } = await listCloud(listed, clock, callOf(signal));
  const remove = removalPlanner(cluster.nodes, cloud, clusterCIDRs);
  const planned = tables.map((one) => ({ ...one, plan: remove(one.listing, one.table.name) }));
  const comparison = { provider, clusterName: flags["cluster-name"], cloud, cluster, selection };
  const marked = balancers.flatMap((balancer) => leftoverOf(balancer, comparison) ?? []);
  return {
    cluster,
    leftovers: [...marked, ...planned.flatMap(({ table, plan }) => leftRoutes(table.name, plan))],
    tables: planned,
    problems,
    others: balancers.length - marked.length,
  };
}

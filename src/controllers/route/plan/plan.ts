// Plans which routes to create and remove. Routes that Fairlead does not manage, and routes of exempt Nodes, are never removed
// (see `isManaged` and `isExempt`). Pure.

import { type ListedRoute, matchTarget } from "../../../cloud/own-route-changes.ts";
import type { Cidr } from "../../../core/brand.ts";
import { overlaps } from "../../../core/cidr-overlaps.ts";
import type { Problem } from "../../../core/problem.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import type { TableOptions } from "../deps.ts";
import { isInsideCluster } from "../desired/cluster-cidrs.ts";
import { type DesiredRoutes, type Exempt, planDesiredRoutes } from "../desired/plan-desired.ts";
import type { RouteListing } from "../observe/table-listing.ts";
import type { TableName } from "../tables.ts";
import { podCIDRTaken, routeTaken } from "../texts.ts";

export interface RoutePlanInput {
  /** If several routes have the same destination, the route that is in the table takes precedence, and then the first. */
  readonly desired: readonly DesiredRoute[];
  readonly observed: readonly ListedRoute[];
  readonly exempt: Exempt;
  readonly clusterCIDRs: readonly Cidr[];
  /** The name of the table, if there are several. */
  readonly table?: TableName;
}

export interface RoutePlan {
  readonly remove: readonly ObservedRoute[];
  /** A route whose target changed is in both lists; the old route is removed first. */
  readonly create: readonly DesiredRoute[];
  readonly present: readonly DesiredRoute[];
  /** Routes in the table whose target is insufficiently known: neither created nor removed. */
  readonly undecided: readonly DesiredRoute[];
  readonly refused: readonly { readonly route: DesiredRoute; readonly problem: Problem }[];
}

export function planRoutes({ desired, observed, exempt, clusterCIDRs, table }: RoutePlanInput): RoutePlan {
  // A wider route may lead to the pods of exempt Nodes, which a table without marks does not show.
  const destinations = observed.map(({ destination }) => destination);
  const touching = overlaps(destinations, [...exempt.destinations]);
  const mayRemove = (route: ListedRoute): boolean =>
    route.isUnshown !== true &&
    isManagedRoute(route, clusterCIDRs) &&
    !isExempt(exempt, route) &&
    !touching.has(route.destination);
  const observedByRange = Map.groupBy(observed, ({ destination }) => destination);
  const desiredByRange = Map.groupBy(desired, ({ destination }) => destination);
  const plan = {
    remove: observed.filter((route) => !desiredByRange.has(route.destination) && mayRemove(route)),
    create: [] as DesiredRoute[],
    present: [] as DesiredRoute[],
    undecided: [] as DesiredRoute[],
    refused: [] as { route: DesiredRoute; problem: Problem }[],
  };
  for (const [destination, candidates] of desiredByRange) {
    const routes = observedByRange.get(destination) ?? [];
    const [first] = candidates;
    if (first === undefined) continue;
    const winner = candidates.find((candidate) => routes.some(leadsTo(candidate))) ?? first;
    for (const loser of candidates) {
      if (loser !== winner) plan.refused.push({ route: loser, problem: podCIDRTaken(loser, winner) });
    }
    const right = routes.filter(leadsTo(winner));
    // If two routes are correct, the managed route stays, because only that route can be removed later.
    const kept = right.find(mayRemove) ?? right[0];
    if (kept !== undefined) {
      plan.present.push(winner);
      plan.remove.push(...routes.filter((route) => route !== kept && mayRemove(route)));
      continue;
    }
    // A route that is not shown yet leads to another target, and can be removed later.
    const isUnclear = (route: ListedRoute): boolean =>
      route.isUnshown === true || matchTarget(winner.target, route) === "unknown";
    if (routes.some(isUnclear)) {
      plan.undecided.push(winner);
      continue;
    }
    const occupant = routes.find((route) => !mayRemove(route));
    if (occupant !== undefined) {
      plan.refused.push({ route: winner, problem: routeTaken(winner, occupant, table) });
      continue;
    }
    plan.remove.push(...routes);
    plan.create.push(winner);
  }
  return plan;
}

/** The desired routes, the listed table, and the changes between them. */
export interface Survey {
  readonly desired: DesiredRoutes;
  readonly listing: RouteListing;
  readonly plan: RoutePlan;
}

export function surveyOf(options: TableOptions, listing: RouteListing): Survey {
  const { nodes, clusterCIDRs, table } = options;
  const desired = planDesiredRoutes(nodes.list(), options);
  const { routes, exempt } = desired;
  const plan = planRoutes({ desired: routes, observed: listing.routes, exempt, clusterCIDRs, table });
  return { desired, listing, plan };
}

function leadsTo({ target }: DesiredRoute) {
  return (route: ObservedRoute): boolean => matchTarget(target, route) === "same";
}

/**
 * Whether the route has Fairlead's mark, or is in a table without marks. Routes outside the cluster's ranges are never managed.
 */
export function isManagedRoute(
  { ownership, destination }: Pick<ObservedRoute, "ownership" | "destination">,
  clusterCIDRs: readonly Cidr[],
): boolean {
  return ownership !== "foreign" && isInsideCluster(clusterCIDRs, destination);
}

/** Whether the route leads to a Node whose routes must not be changed, or is for a range of such a Node. */
function isExempt(exempt: Exempt, route: ObservedRoute): boolean {
  return (
    exempt.destinations.has(route.destination) ||
    (route.targetKey !== undefined && exempt.keys.has(route.targetKey)) ||
    (route.targetAddress !== undefined && exempt.addresses.has(route.targetAddress))
  );
}

// What to make and what to remove so that the wanted routes are there, and nothing of ours besides them. Pure; what is not
// ours, or must be left alone, is never in it.

import type { Cidr } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import { isSpared, matchTarget, type Spared } from "../desired/match-target.ts";
import { overlaps } from "../desired/overlaps.ts";
import { isOurs } from "../observed/ours.ts";

export interface RoutePlanInput {
  /** Of several for one destination the one that is there counts, else the first. */
  readonly wanted: readonly DesiredRoute[];
  readonly observed: readonly ObservedRoute[];
  readonly spared: Spared;
  readonly clusterCIDRs: readonly Cidr[];
}

export interface RoutePlan {
  readonly remove: readonly ObservedRoute[];
  /** A route that leads elsewhere now is in both lists: the old one goes first. */
  readonly create: readonly DesiredRoute[];
  readonly present: readonly DesiredRoute[];
  /** There, but whether it is right cannot be told yet: neither made nor removed. */
  readonly undecided: readonly DesiredRoute[];
  readonly refused: readonly { readonly route: DesiredRoute; readonly problem: Problem }[];
}

export function planRoutes({ wanted, observed, spared, clusterCIDRs }: RoutePlanInput): RoutePlan {
  // One for many ranges may be how the pods of Nodes that are left alone are reached: a table without marks cannot tell.
  const destinations = observed.map(({ destination }) => destination);
  const touching = overlaps(destinations, [...spared.destinations]);
  const mayRemove = (route: ObservedRoute): boolean =>
    isOurs(route, clusterCIDRs) && !isSpared(spared, route) && !touching.has(route.destination);
  const there = Map.groupBy(observed, ({ destination }) => destination);
  const desiredServices = Map.groupBy(wanted, ({ destination }) => destination);
  const plan = {
    remove: observed.filter((route) => !desiredServices.has(route.destination) && mayRemove(route)),
    create: [] as DesiredRoute[],
    present: [] as DesiredRoute[],
    undecided: [] as DesiredRoute[],
    refused: [] as { route: DesiredRoute; problem: Problem }[],
  };
  for (const [destination, candidates] of desiredServices) {
    const routes = there.get(destination) ?? [];
    const [first] = candidates;
    if (first === undefined) continue;
    const winner = candidates.find((desired) => routes.some(leadsTo(desired))) ?? first;
    for (const loser of candidates) {
      if (loser !== winner) plan.refused.push({ route: loser, problem: rangeTaken(loser, winner) });
    }
    const right = routes.filter(leadsTo(winner));
    // Of two that are right ours stays: what is marked can be removed again one day.
    const kept = right.find(mayRemove) ?? right[0];
    if (kept !== undefined) {
      plan.present.push(winner);
      plan.remove.push(...routes.filter((route) => route !== kept && mayRemove(route)));
      continue;
    }
    if (routes.some((route) => matchTarget(winner.target, route) === "unknown")) {
      plan.undecided.push(winner);
      continue;
    }
    const occupant = routes.find((route) => !mayRemove(route));
    if (occupant !== undefined) {
      plan.refused.push({ route: winner, problem: routeTaken(winner, occupant) });
      continue;
    }
    plan.remove.push(...routes);
    plan.create.push(winner);
  }
  return plan;
}

/** The part of a plan that is about these destinations. */
export function planOnly(plan: RoutePlan, destinations: ReadonlySet<Cidr>): RoutePlan {
  const isMeant = ({ destination }: { readonly destination: Cidr }) => destinations.has(destination);
  return { ...plan, remove: plan.remove.filter(isMeant), create: plan.create.filter(isMeant) };
}

function leadsTo({ target }: DesiredRoute) {
  return (route: ObservedRoute): boolean => matchTarget(target, route) === "same";
}

function rangeTaken({ destination }: DesiredRoute, winner: DesiredRoute): Problem {
  return {
    severity: "error",
    reason: "PodCIDRTaken",
    text: `No route is made for ${destination}: node ${winner.target.node} has the same pod range.`,
  };
}

function routeTaken({ destination }: DesiredRoute, { handle, ownership }: ObservedRoute): Problem {
  return {
    severity: "error",
    reason: "RouteTaken",
    text: `No route is made for ${destination}: there is one already (${handle}) that leads elsewhere and ${ownership === "foreign" ? "is not ours" : "belongs to a node that is left alone"}. Remove it, or give the node another range.`,
  };
}

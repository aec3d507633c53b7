// Deletes routes of one table, with the executor of the route controller.

import { applyPlan } from "../../controllers/route/apply/apply.ts";
import { RouteBackoffs } from "../../controllers/route/apply/backoffs.ts";
import type { RouteListing } from "../../controllers/route/observed/route-table.ts";
import type { ChangeResult } from "../../controllers/route/plan/changes.ts";
import type { RoutePlan } from "../../controllers/route/plan/plan.ts";
import type { Survey as RouteSurvey } from "../../controllers/route/plan/survey.ts";
import { routeDefaults } from "../../controllers/route/settings.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { ObservedRoute } from "../../provider/routes.ts";
import type { PlannedTable } from "./survey.ts";

const nothingDesired: RouteSurvey["desired"] = {
  routes: [],
  notServed: new Set(),
  tablesOfNode: new Map(),
  exempt: { destinations: new Set(), keys: new Set(), names: new Set(), addresses: new Set() },
  waiting: [],
  nodeProblems: new Map(),
  problems: [],
};

/** Removes the routes that the plan removes and that are confirmed; routes that appeared later stay. */
export function deleteRoutes(
  { serving: { routes, name }, table, listing, planFor }: PlannedTable,
  isConfirmed: (route: ObservedRoute) => boolean,
  clock: Clock,
  call: Call,
): Promise<readonly ChangeResult[]> {
  const confirmed = (found: RouteListing): RoutePlan => {
    const plan = planFor(found);
    return { ...plan, remove: plan.remove.filter(isConfirmed), create: [] };
  };
  const survey = { desired: nothingDesired, listing, plan: confirmed(listing), planFor: confirmed };
  const context = {
    ...{ routes, table: name, clock, settings: routeDefaults, isBusy: false },
    send: <T>(_: unknown, request: () => Promise<T>) => request(),
  };
  return applyPlan(survey, table, new RouteBackoffs(clock), context, call);
}

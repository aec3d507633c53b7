// What the Nodes ask for, what the table has, and what is to be done about it, as of one look. Nothing is removed because of
// a listing that began before the look.

import type { RouteControllerOptions } from "../deps.ts";
import { type DesiredRoutesInput, planWanted, type Wanted } from "../desired/plan-desired.ts";
import { planRoutes, type RoutePlan } from "../reconcile/plan.ts";
import type { RouteListing, RouteTable } from "./route-table.ts";

export interface Survey {
  readonly wanted: Wanted;
  readonly listing: RouteListing;
  readonly plan: RoutePlan;
  /** For the same wishes and another listing. */
  readonly planFor: (listing: RouteListing) => RoutePlan;
}

type SurveyOptions = Pick<
  RouteControllerOptions,
  "nodes" | "isSelected" | "routes" | "clusterCIDRs" | "settings"
>;

export async function takeSurvey(
  { nodes, isSelected, routes: { families }, clusterCIDRs, settings }: SurveyOptions,
  table: RouteTable,
  machines: Pick<DesiredRoutesInput, "machineOf" | "keysOf">,
  { began, isFullCheck }: { readonly began: number; readonly isFullCheck: boolean },
): Promise<Survey> {
  const surveyOf = (listing: RouteListing): Survey => {
    const wanted = planWanted({ ...machines, nodes: nodes.list(), isSelected, clusterCIDRs, families });
    const desiredServices = { wanted: wanted.routes, spared: wanted.spared, clusterCIDRs };
    const planFor = ({ routes: observed }: RouteListing) => planRoutes({ ...desiredServices, observed });
    return { wanted, listing, plan: planFor(listing), planFor };
  };
  const known = isFullCheck ? undefined : table.known(settings.acceptsAge);
  const early = known && surveyOf(known);
  if (early !== undefined && early.plan.remove.length === 0) return early;
  return surveyOf(await table.beganAfter(began, isFullCheck ? "refresh" : "new-node"));
}

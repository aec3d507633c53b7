// Compares the routes that the Nodes need with the cloud's table. A plan that removes routes is always based on a listing that
// began after the survey did.

import type { Inventory } from "../../../cloud/inventory.ts";
import { defined } from "../../../core/defined.ts";
import type { Node } from "../../../kube/objects.ts";
import { identityOf, ipsOf, nameOf, providerIDOf } from "../../node-facts.ts";
import type { TableOptions } from "../deps.ts";
import { type DesiredRoutes, planDesiredRoutes } from "../desired/plan-desired.ts";
import type { RouteListing, TableListing } from "../observed/table-listing.ts";
import type { TargetAnswer } from "../tables.ts";
import { planRoutes, type RoutePlan } from "./plan.ts";

export interface Survey {
  readonly desired: DesiredRoutes;
  readonly listing: RouteListing;
  readonly plan: RoutePlan;
}

type SurveyOptions = Pick<
  TableOptions,
  "nodes" | "inventory" | "isSelected" | "table" | "tables" | "clusterCIDRs"
>;

/** `began`: when the survey did. `needs`: an older listing is not enough for a full check, and proves nothing. */
export async function takeSurvey(
  options: SurveyOptions,
  table: TableListing,
  began: number,
  needs: "full check" | "listing" | undefined,
  signal: AbortSignal,
): Promise<Survey> {
  const recent = needs === undefined ? table.recent : undefined;
  const survey = recent && surveyOf(options, recent);
  if (survey !== undefined && survey.plan.remove.length === 0) return survey;
  const urgency = needs === "full check" ? "refresh" : "new-node";
  return surveyOf(options, await table.beganAfter(began, urgency, signal));
}

function surveyOf(
  { nodes, inventory, isSelected, table, tables, clusterCIDRs }: SurveyOptions,
  listing: RouteListing,
): Survey {
  const desired = planDesiredRoutes({
    nodes: nodes.list(),
    isSelected,
    targetOf: (node) => targetOf(inventory, node),
    keysOf: (node) => keysOf(inventory, node),
    clusterCIDRs,
    tables,
    table,
  });
  const { routes, exempt } = desired;
  const plan = planRoutes({ desired: routes, observed: listing.routes, exempt, clusterCIDRs, table });
  return { desired, listing, plan };
}

/** The Node as a target. Uses only the inventory; sends no request to the cloud. */
export function targetOf(inventory: Inventory, node: Node): TargetAnswer {
  const answer = inventory.check(identityOf(node));
  if (answer.kind === "foreign") return "foreign";
  if (answer.kind !== "exists") return "unknown";
  const { key, handles } = answer.instance;
  const machine = { source: answer.source, key, ...defined({ handles }) };
  return { node: nameOf(node), uid: node.metadata.uid, machine, ...ipsOf(node) };
}

/** The keys of the provider id in every source that recognizes it. */
function keysOf(inventory: Inventory, node: Node): readonly string[] {
  const providerID = providerIDOf(node);
  if (providerID === undefined) return [];
  const unreadable = inventory.unreadableMachineOf(identityOf(node))?.key;
  return [
    ...inventory.sources.flatMap((source) => source.keyOf(providerID) ?? []),
    ...(unreadable === undefined ? [] : [unreadable]),
  ];
}

// Compares the routes that the Nodes need with the cloud's table. A plan that removes routes is always based on a listing that
// began after the survey did.

import type { Inventory } from "../../../cloud/inventory.ts";
import { defined } from "../../../core/defined.ts";
import type { Node } from "../../../kube/objects.ts";
import type { RouteTarget } from "../../../provider/routes.ts";
import { identityOf, ipsOf, nameOf, providerIDOf } from "../../node-facts.ts";
import type { TableOptions } from "../deps.ts";
import { type DesiredRoutes, type MachineAnswer, planDesiredRoutes } from "../desired/plan-desired.ts";
import type { RouteListing, TableListing } from "../observed/table-listing.ts";
import { planRoutes, type RoutePlan } from "./plan.ts";

export interface Survey {
  readonly desired: DesiredRoutes;
  readonly listing: RouteListing;
  readonly plan: RoutePlan;
}

export interface SurveyMoment {
  readonly began: number;
  /** An older listing proves nothing. */
  readonly needsListing: boolean;
  readonly isFullCheck: boolean;
}

type SurveyOptions = Pick<
  TableOptions,
  "nodes" | "inventory" | "isSelected" | "table" | "tables" | "clusterCIDRs" | "settings"
>;

export async function takeSurvey(
  options: SurveyOptions,
  table: TableListing,
  { began, needsListing, isFullCheck }: SurveyMoment,
  signal: AbortSignal,
): Promise<Survey> {
  const latest = isFullCheck || needsListing ? undefined : table.latest(options.settings.maxListingAge);
  const survey = latest && surveyOf(options, latest);
  if (survey !== undefined && survey.plan.remove.length === 0) return survey;
  return surveyOf(options, await table.beganAfter(began, isFullCheck ? "refresh" : "new-node", signal));
}

function surveyOf(
  { nodes, inventory, isSelected, table, tables, clusterCIDRs }: SurveyOptions,
  listing: RouteListing,
): Survey {
  const desired = planDesiredRoutes({
    nodes: nodes.list(),
    isSelected,
    machineOf: (node) => machineOf(inventory, node),
    keysOf: (node) => keysOf(inventory, node),
    clusterCIDRs,
    tables,
    table,
  });
  const { routes, exempt } = desired;
  const plan = planRoutes({ desired: routes, observed: listing.routes, exempt, clusterCIDRs, table });
  return { desired, listing, plan };
}

/** The Node as a target; undefined if its machine is not known for certain. */
export function targetOf(inventory: Inventory, node: Node): RouteTarget | undefined {
  const answer = machineOf(inventory, node);
  if (answer.kind !== "found") return undefined;
  return { node: nameOf(node), uid: node.metadata.uid, machine: answer.machine, ...ipsOf(node) };
}

/** Uses only the inventory; sends no request to the cloud. */
function machineOf(inventory: Inventory, node: Node): MachineAnswer {
  const answer = inventory.check(identityOf(node));
  if (answer.kind === "foreign") return { kind: "foreign" };
  if (answer.kind !== "exists") return { kind: "unknown" };
  const { key, handles } = answer.instance;
  return { kind: "found", machine: { source: answer.source, key, ...defined({ handles }) } };
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

// Plans the desired routes of one table: one per pod range of a Node that the table serves and whose instance is known, within
// the cluster's ranges and of a family that the table supports. Also lists the Nodes whose existing routes must not be changed.
// Pure.

import type { Inventory } from "../../../cloud/inventory/instances.ts";
import type { Cidr } from "../../../core/brand.ts";
import { cidrFamily } from "../../../core/cidr.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Node } from "../../../kube/objects.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import {
  identityOf,
  ipsOf,
  isUninitialized,
  nameOf,
  podCIDRsOf,
  podRangesOf,
  providerIDOf,
} from "../../node-facts.ts";
import { isPaused } from "../../pause.ts";
import type { TableOptions } from "../deps.ts";
import { type ServingTable, type TableName, type TargetAnswer, tablesFor } from "../tables.ts";
import { familyUnsupported, invalidPodCIDR, noRouteTable, podCIDROutsideCluster } from "../texts.ts";
import { isInsideCluster } from "./cluster-cidrs.ts";

/** Nodes whose routes are never changed, by every property that may identify the target of an observed route. */
export interface Exempt {
  readonly destinations: ReadonlySet<Cidr>;
  readonly keys: ReadonlySet<string>;
  readonly addresses: ReadonlySet<string>;
}

export interface DesiredRoutes {
  /** The routes of this table. Routes of older Nodes come first. */
  readonly routes: readonly DesiredRoute[];
  /** Ranges of Nodes that this table does not serve. */
  readonly notServed: ReadonlySet<Cidr>;
  /** The tables in which each Node needs routes, by uid. */
  readonly tablesOfNode: ReadonlyMap<string, ReadonlySet<TableName>>;
  readonly exempt: Exempt;
  /** Nodes whose instance is not known yet. */
  readonly waiting: readonly Node[];
  /** Nodes of this manager whose routes do not change: waiting and paused Nodes. */
  readonly unchanged: readonly Node[];
  readonly nodeProblems: ReadonlyMap<string, readonly Problem[]>;
  /** Problems that do not concern a single Node. */
  readonly problems: readonly Problem[];
}

/** `isSelected`: routes of another manager's Nodes are never changed, whatever their instances are. */
export function planDesiredRoutes(
  nodes: readonly Node[],
  options: Pick<TableOptions, "inventory" | "isSelected" | "clusterCIDRs" | "table"> & {
    readonly tables: readonly ServingTable[];
  },
): DesiredRoutes {
  const { inventory, isSelected, clusterCIDRs, tables, table } = options;
  const routes: DesiredRoute[] = [];
  const notServed = new Set<Cidr>();
  const tablesOfNode = new Map<string, Set<TableName>>();
  const waiting: Node[] = [];
  const unchanged: Node[] = [];
  const exemptNodes: Node[] = [];
  const nodeProblems = new Map<string, Problem[]>();
  const missingFamilies = new Set<string>();
  for (const node of nodes.toSorted(byAge)) {
    const isAlone = isLeftAlone(node, isSelected);
    const ranges = podCIDRsOf(node);
    if (!isAlone && ranges.length === 0) continue;
    const target = isAlone ? "foreign" : targetOf(inventory, node);
    if (typeof target === "string") {
      exemptNodes.push(node);
      if (target === "unknown") waiting.push(node);
      if (target === "unknown" || (isPaused(node) && isSelected(node))) unchanged.push(node);
      continue;
    }
    const needing = new Set<TableName>();
    const problems: Problem[] = [];
    for (const { text, range } of ranges) {
      if (range === undefined || !isInsideCluster(clusterCIDRs, range)) {
        problems.push(
          range === undefined ? invalidPodCIDR(text) : podCIDROutsideCluster(range, clusterCIDRs),
        );
        continue;
      }
      const route = { destination: range, target };
      const { names, isServed } = tablesFor(tables, route);
      for (const name of names) needing.add(name);
      if (!isServed) problems.push(noRouteTable(route));
      else if (names.length === 0) missingFamilies.add(cidrFamily(range));
      if (names.includes(table)) routes.push(route);
      else notServed.add(range);
    }
    tablesOfNode.set(node.metadata.uid, needing);
    if (problems.length > 0) nodeProblems.set(node.metadata.name, problems);
  }
  const problems = [...missingFamilies].toSorted().map(familyUnsupported);
  const exempt = exemptionOf(exemptNodes, (node) => keysOf(inventory, node));
  return { routes, notServed, tablesOfNode, exempt, waiting, unchanged, nodeProblems, problems };
}

/** Until a Node is initialized, its instance may be incorrect, and its addresses do not come from the cloud. */
export function isLeftAlone(node: Node, isSelected: (node: Node) => boolean): boolean {
  return isPaused(node) || !isSelected(node) || isUninitialized(node);
}

/** For a range, the older Node takes precedence. Nodes of the same age are ordered by name, so that the order is stable. */
function byAge(a: Node, b: Node): number {
  const one = a.metadata.creationTimestamp ?? "";
  const other = b.metadata.creationTimestamp ?? "";
  if (one !== other) return one < other ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** `keysOf`: every key that the Node's provider id may refer to. */
export function exemptionOf(nodes: readonly Node[], keysOf: (node: Node) => readonly string[]): Exempt {
  return {
    destinations: new Set(nodes.flatMap(podRangesOf)),
    keys: new Set(nodes.flatMap(keysOf)),
    addresses: new Set(nodes.flatMap((node) => ipsOf(node).addresses)),
  };
}

/** The Node as a target, from the inventory alone; sends no request to the cloud. */
export function targetOf(inventory: Inventory, node: Node): TargetAnswer {
  const answer = inventory.check(identityOf(node));
  if (answer.kind === "foreign") return "foreign";
  if (answer.kind !== "exists") return "unknown";
  const { key, handles } = answer.instance;
  const machine = { source: answer.source, key, ...defined({ handles }) };
  return { node: nameOf(node), uid: node.metadata.uid, machine, ...ipsOf(node) };
}

/** The provider id's keys in every source that recognizes it. */
function keysOf(inventory: Inventory, node: Node): readonly string[] {
  const providerID = providerIDOf(node);
  if (providerID === undefined) return [];
  const unreadable = inventory.unreadableMachineOf(identityOf(node));
  const keys = inventory.sources.flatMap((source) => source.keyOf(providerID) ?? []);
  return unreadable === undefined ? keys : [...keys, unreadable.key];
}

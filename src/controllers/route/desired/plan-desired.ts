// Which routes the Nodes ask for: one per pod range, to a machine that is known, inside the cluster's ranges and of a
// family the cloud has. Pure; Nodes that are none of our business are named so that their routes are left alone.

import type { Cidr, IpAddress } from "../../../core/brand.ts";
import { cidrFamily, parseCidr } from "../../../core/cidr.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Machine } from "../../../provider/instances.ts";
import type { DesiredRoute, Routes } from "../../../provider/routes.ts";
import { isPaused, nameOf } from "../../node-facts.ts";
import { isInside } from "../observed/ours.ts";
import type { Spared } from "./match-target.ts";

/** `unknown`: the cloud does not show it, or not yet. `foreign`: it is another cloud's. */
export type MachineAnswer =
  | { readonly kind: "found"; readonly machine: Machine }
  | { readonly kind: "unknown" }
  | { readonly kind: "foreign" };

export interface DesiredRoutesInput {
  readonly nodes: readonly Node[];
  /** Another manager's Nodes are left alone, whatever their machines are. */
  readonly isSelected: (node: Node) => boolean;
  readonly machineOf: (node: Node) => MachineAnswer;
  /** Every key its provider id may stand for, without asking anybody. */
  readonly keysOf: (node: Node) => readonly string[];
  readonly clusterCIDRs: readonly Cidr[];
  readonly families: Routes["families"];
}

export interface Wanted {
  /** Those of older Nodes first. */
  readonly routes: readonly DesiredRoute[];
  readonly spared: Spared;
  /** Nodes that wait for their machine to be known. */
  readonly waiting: readonly Node[];
  readonly nodeProblems: ReadonlyMap<string, readonly Problem[]>;
  /** About all of them. */
  readonly problems: readonly Problem[];
}

export function planWanted({
  nodes,
  isSelected,
  machineOf,
  keysOf,
  clusterCIDRs,
  families,
}: DesiredRoutesInput): Wanted {
  const routes: DesiredRoute[] = [];
  const waiting: Node[] = [];
  const nodeProblems = new Map<string, Problem[]>();
  const missingFamilies = new Set<string>();
  const spared = {
    destinations: new Set<Cidr>(),
    keys: new Set<string>(),
    names: new Set<string>(),
    addresses: new Set<string>(),
  };
  for (const node of nodes.toSorted(byAge)) {
    const isLeftAlone = isPaused(node) || !isSelected(node);
    const ranges = podCIDRsOf(node);
    if (!isLeftAlone && ranges.length === 0) continue;
    const answer: MachineAnswer = isLeftAlone ? { kind: "foreign" } : machineOf(node);
    if (answer.kind !== "found") {
      spare(spared, node, keysOf(node));
      if (answer.kind === "unknown") waiting.push(node);
      continue;
    }
    const addresses = addressesOf(node);
    const problems: Problem[] = [];
    for (const { text, range } of ranges) {
      if (range === undefined) problems.push(noRange(text));
      else if (!isInside(clusterCIDRs, range)) problems.push(outside(range, clusterCIDRs));
      else if (!families.includes(cidrFamily(range))) missingFamilies.add(cidrFamily(range));
      else {
        const target = { node: nameOf(node), uid: node.metadata.uid, machine: answer.machine, addresses };
        routes.push({ destination: range, target });
      }
    }
    if (problems.length > 0) nodeProblems.set(node.metadata.name, problems);
  }
  const problems = [...missingFamilies].toSorted().map(noFamily);
  return { routes, spared, waiting, nodeProblems, problems };
}

/** Each range once, however often and in whatever spelling it stands there. */
export function podCIDRsOf(
  node: Node,
): readonly { readonly text: string; readonly range: Cidr | undefined }[] {
  const { podCIDR, podCIDRs } = node.spec;
  const texts = podCIDRs ?? (podCIDR === undefined || podCIDR === "" ? [] : [podCIDR]);
  const found = new Map<string, { text: string; range: Cidr | undefined }>();
  for (const text of texts) {
    const range = parseCidr(text, "sloppy");
    found.set(range ?? text, { text, range });
  }
  return [...found.values()];
}

/** Only what a route can lead to: names are none. */
export function addressesOf(node: Node): readonly IpAddress[] {
  return (node.status.addresses ?? []).flatMap(({ address }) => parseIp(address, "sloppy") ?? []);
}

/** An older Node was there first; of two equally old ones the name decides, so that it never flips. */
function byAge(a: Node, b: Node): number {
  const one = a.metadata.creationTimestamp ?? "";
  const other = b.metadata.creationTimestamp ?? "";
  if (one !== other) return one < other ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function spare(
  spared: { destinations: Set<Cidr>; keys: Set<string>; names: Set<string>; addresses: Set<string> },
  node: Node,
  keys: readonly string[],
): void {
  for (const { range } of podCIDRsOf(node)) if (range !== undefined) spared.destinations.add(range);
  for (const key of keys) spared.keys.add(key);
  for (const address of addressesOf(node)) spared.addresses.add(address);
  spared.names.add(node.metadata.name);
}

function noRange(text: string): Problem {
  return {
    severity: "error",
    reason: "InvalidPodCIDR",
    text: `No route is made for ${JSON.stringify(text)} in spec.podCIDRs: it is no address range.`,
  };
}

function outside(range: Cidr, clusterCIDRs: readonly Cidr[]): Problem {
  return {
    severity: "error",
    reason: "PodCIDROutsideCluster",
    text: `No route is made for ${range}: it lies outside --cluster-cidr=${clusterCIDRs.join(",")}. Widen the flag if the range is right.`,
  };
}

function noFamily(family: string): Problem {
  return {
    severity: "warning",
    reason: "RouteFamilyUnsupported",
    text: `The cloud has no routes for ${family}: pod ranges of that family get none, and the condition of their nodes speaks of the others only.`,
  };
}

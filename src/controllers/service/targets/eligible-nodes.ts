// Which Nodes a balancer may lead to, and what a balancer is told of them. Readiness plays no part: health checks of the
// cloud are quicker, and a set that follows every flap would be rebuilt all the time.

import { type IpAddress, type NodeName, nodeName } from "../../../core/brand.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Machine } from "../../../provider/instances.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { labelPairs } from "../../well-known.ts";

const exclusionLabel = "node.kubernetes.io/exclude-from-external-load-balancers";
export const autoscalerTaint = "ToBeDeletedByClusterAutoscaler";

/** Go's ParseBool: what it cannot read excludes too, the empty string first of all. */
const falsehoods: readonly string[] = ["0", "f", "F", "false", "FALSE", "False"];

export function isExcluded({ metadata }: Node): boolean {
  const label = metadata.labels?.[exclusionLabel];
  return label !== undefined && !falsehoods.includes(label);
}

export function isDraining({ metadata, spec }: Node): boolean {
  return (
    metadata.deletionTimestamp !== undefined || (spec.taints ?? []).some(({ key }) => key === autoscalerTaint)
  );
}

/** Upstream's predicate: it takes new connections. */
export const isEligible = (node: Node): boolean => !isExcluded(node) && !isDraining(node);

/** Without the empty id of a Node that has just come, so that it is the same as an absent one. */
const idOf = (node: Node): string => node.spec.providerID ?? "";

/** Exactly upstream's: a Node that came or went, its exclusion, its provider id. */
export function upstreamNodeChange(before: Node | undefined, after: Node | undefined): boolean {
  return (
    before === undefined ||
    after === undefined ||
    isExcluded(before) !== isExcluded(after) ||
    idOf(before) !== idOf(after)
  );
}

export interface NodeChangeOptions {
  /** Some Service chooses its targets by labels. */
  readonly labelsMatter?: boolean;
  /** Another manager's Nodes are no targets of ours. */
  readonly isSelected?: (node: Node) => boolean;
}

const addressText = ({ status }: Node): string => addressesOf(status.addresses).join();
const zoneOf = ({ metadata }: Node): string | undefined => metadata.labels?.[labelPairs.zone.current];

export function isRelevantNodeChange(
  before: Node | undefined,
  after: Node | undefined,
  { labelsMatter = false, isSelected = () => true }: NodeChangeOptions = {},
): boolean {
  if (before === undefined || after === undefined || upstreamNodeChange(before, after)) return true;
  if (isSelected(before) !== isSelected(after)) return true;
  // Excluded before and after: whatever else has become of it, no balancer leads there.
  if (isExcluded(after)) return false;
  return (
    before.metadata.uid !== after.metadata.uid ||
    isDraining(before) !== isDraining(after) ||
    addressText(before) !== addressText(after) ||
    zoneOf(before) !== zoneOf(after) ||
    (labelsMatter && JSON.stringify(before.metadata.labels) !== JSON.stringify(after.metadata.labels))
  );
}

function addressesOf(addresses: Node["status"]["addresses"]): readonly IpAddress[] {
  return [...new Set((addresses ?? []).flatMap(({ address }) => parseIp(address, "sloppy") ?? []))];
}

function byName(a: Node, b: Node): number {
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}

/** Who is about to leave is a draining target. Sorted by name, so that the same Nodes make the same wish in whatever order they were listed. */
export function targetsOf(
  nodes: readonly Node[],
  machineOf: (node: Node) => Machine | undefined,
  /** Of an excluded Node: it was a target until now and may drain. */
  isLeaving: (name: NodeName) => boolean = () => false,
): readonly BalancerTarget[] {
  return nodes
    .filter((node) => !isExcluded(node) || isLeaving(nameOf(node)))
    .toSorted(byName)
    .map((node): BalancerTarget => {
      const machine = machineOf(node);
      return {
        node: nameOf(node),
        ...(machine !== undefined && { machine }),
        labels: node.metadata.labels ?? {},
        addresses: addressesOf(node.status.addresses),
        draining: !isEligible(node),
      };
    });
}

const nameOf = ({ metadata }: Node): NodeName => nodeName(metadata.name);

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

const textOf = (value: unknown): string => JSON.stringify(value ?? null);

function isSameTarget(a: BalancerTarget, b: BalancerTarget): boolean {
  return (
    a.node === b.node &&
    a.draining === b.draining &&
    isSameList(a.addresses, b.addresses) &&
    textOf(a.machine) === textOf(b.machine) &&
    // Nearly always the very same object: of thousands of nodes only a few have changed.
    (a.labels === b.labels || textOf(a.labels) === textOf(b.labels))
  );
}

/** A machine that was found only now, another address or label, is a difference too. */
export function isSameTargets(a: readonly BalancerTarget[], b: readonly BalancerTarget[]): boolean {
  return (
    a.length === b.length &&
    a.every((target, index) => {
      const other = b[index];
      return other !== undefined && isSameTarget(target, other);
    })
  );
}

// Decides which Nodes can be targets, describes them for the provider, and tracks since when leaving Nodes drain. Readiness is
// ignored, because the cloud's health checks are faster, and targets would change with every flap. `choose-targets.ts` chooses
// from these candidates. Pure.

import { type NodeName, nodeName } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Machine } from "../../../provider/instances.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { ipsOf, type NodeIPs, nameOf } from "../../node-facts.ts";
import { labelPairs } from "../../well-known.ts";

const exclusionLabel = "node.kubernetes.io/exclude-from-external-load-balancers";
const autoscalerTaint = "ToBeDeletedByClusterAutoscaler";

/** The false values of Go's ParseBool. Any other value excludes the Node, including the empty string. */
const falseValues: readonly string[] = ["0", "f", "F", "false", "FALSE", "False"];

export function isExcluded({ metadata }: Node): boolean {
  const label = metadata.labels?.[exclusionLabel];
  return label !== undefined && !falseValues.includes(label);
}

export function isDraining({ metadata, spec }: Node): boolean {
  return (
    metadata.deletionTimestamp !== undefined || (spec.taints ?? []).some(({ key }) => key === autoscalerTaint)
  );
}

/** Upstream's predicate: the Node accepts new connections. */
export const isEligible = (node: Node): boolean => !isExcluded(node) && !isDraining(node);

/** An empty provider ID of a new Node equals a missing provider ID. */
const idOf = (node: Node): string => node.spec.providerID ?? "";

/** Upstream's condition: a Node was added or removed, or its exclusion or provider ID changed. */
export function upstreamNodeChange(before: Node | undefined, after: Node | undefined): boolean {
  return (
    before === undefined ||
    after === undefined ||
    isExcluded(before) !== isExcluded(after) ||
    idOf(before) !== idOf(after)
  );
}

export interface NodeChangeOptions {
  /** Whether a Service selects its targets by labels. */
  readonly labelsMatter?: boolean;
  /** Nodes of another manager are not targets. */
  readonly isSelected?: (node: Node) => boolean;
}

function addressText(node: Node): string {
  const { addresses, internalIPs } = ipsOf(node);
  return `${addresses.join()} ${internalIPs.join()}`;
}

const zoneOf = ({ metadata }: Node): string | undefined => metadata.labels?.[labelPairs.zone.current];

export function isRelevantNodeChange(
  before: Node | undefined,
  after: Node | undefined,
  { labelsMatter = false, isSelected = () => true }: NodeChangeOptions = {},
): boolean {
  if (before === undefined || after === undefined || upstreamNodeChange(before, after)) return true;
  if (isSelected(before) !== isSelected(after)) return true;
  // A Node that is excluded before and after is not a target, whatever else has changed.
  if (isExcluded(after)) return false;
  return (
    before.metadata.uid !== after.metadata.uid ||
    isDraining(before) !== isDraining(after) ||
    addressText(before) !== addressText(after) ||
    zoneOf(before) !== zoneOf(after) ||
    (labelsMatter && JSON.stringify(before.metadata.labels) !== JSON.stringify(after.metadata.labels))
  );
}

function byName(a: Node, b: Node): number {
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}

/** Leaving Nodes are draining targets. Sorted by name, so that the order of Nodes makes no difference. */
export function targetsOf(
  nodes: readonly Node[],
  machineOf: (node: Node) => Machine | undefined,
  /** Whether an excluded Node was a target until now and may drain. */
  isLeaving: (name: NodeName) => boolean = () => false,
  addressesOf: (node: Node) => NodeIPs = ipsOf,
): readonly BalancerTarget[] {
  return nodes
    .filter((node) => !isExcluded(node) || isLeaving(nameOf(node)))
    .toSorted(byName)
    .map((node): BalancerTarget => {
      const machine = machineOf(node);
      const { addresses, internalIPs } = addressesOf(node);
      return {
        node: nameOf(node),
        // Assigned field by field, because this runs for thousands of Nodes on every change.
        ...(machine !== undefined && { machine }),
        labels: node.metadata.labels ?? {},
        addresses,
        internalIPs,
        draining: !isEligible(node),
      };
    });
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

const textOf = (value: unknown): string => JSON.stringify(value ?? null);

function isSameTarget(a: BalancerTarget, b: BalancerTarget): boolean {
  return (
    a.node === b.node &&
    a.draining === b.draining &&
    isSameList(a.addresses, b.addresses) &&
    isSameList(a.internalIPs, b.internalIPs) &&
    textOf(a.machine) === textOf(b.machine) &&
    // Nearly always the same object, because only a few Nodes out of thousands change.
    (a.labels === b.labels || textOf(a.labels) === textOf(b.labels))
  );
}

/** A machine that was found later, or a changed address or label, also counts as a difference. */
export function isSameTargets(a: readonly BalancerTarget[], b: readonly BalancerTarget[]): boolean {
  return (
    a.length === b.length &&
    a.every((target, index) => {
      const other = b[index];
      return other !== undefined && isSameTarget(target, other);
    })
  );
}

/** The cluster autoscaler writes the Unix time of its decision. Any other value is ignored. */
function taintedAt({ spec }: Node): number | undefined {
  const value = spec.taints?.find(({ key }) => key === autoscalerTaint)?.value ?? "";
  return /^[1-9][0-9]{8,10}$/.test(value) ? Number(value) * 1000 : undefined;
}

function recordedAt(node: Node): number | undefined {
  const { deletionTimestamp } = node.metadata;
  const deletedAt = deletionTimestamp === undefined ? Number.NaN : Date.parse(deletionTimestamp);
  const times = [deletedAt, taintedAt(node) ?? Number.NaN].filter((time) => !Number.isNaN(time));
  return times.length === 0 ? undefined : Math.min(...times);
}

export type Departures = ReadonlyMap<NodeName, number>;

/** Times are in milliseconds since 1970, and never later than `now`, even if another clock is ahead. */
export function departuresOf(
  nodes: readonly Node[],
  known: Departures,
  /** Whether the Node was a target before. */
  wasTarget: (name: NodeName) => boolean,
  now: number,
): Departures {
  const departures = new Map<NodeName, number>();
  for (const node of nodes) {
    const name = nodeName(node.metadata.name);
    const isExcludedOnly = isExcluded(node) && !isDraining(node);
    if (!isDraining(node) && !isExcludedOnly) continue;
    if (isExcluded(node) && !known.has(name) && !wasTarget(name)) continue;
    departures.set(name, Math.min(known.get(name) ?? now, recordedAt(node) ?? now));
  }
  return departures;
}

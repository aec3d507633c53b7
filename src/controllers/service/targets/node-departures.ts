// Tracks since when Nodes have been leaving, so that their connections can drain. The time is read from the Node if possible, so
// that a restart continues the drain. An exclusion label has no time, so a restart ends that drain. Pure.

import { type NodeName, nodeName } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { autoscalerTaint, isDraining, isExcluded } from "./eligible-nodes.ts";

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

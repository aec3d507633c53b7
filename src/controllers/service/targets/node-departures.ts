// Since when Nodes are on their way out, so that connections are left the time to end. Read from the Node where it says so,
// so that a restart goes on where it was; an exclusion says no time, and a restart ends that drain.

import { type NodeName, nodeName } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { autoscalerTaint, isDraining, isExcluded } from "./eligible-nodes.ts";

/** The cluster autoscaler writes the second at which it decided; anything else there is no time. */
function taintedAt({ spec }: Node): number | undefined {
  const value = spec.taints?.find(({ key }) => key === autoscalerTaint)?.value ?? "";
  return /^[1-9][0-9]{8,10}$/.test(value) ? Number(value) * 1000 : undefined;
}

function saidAt(node: Node): number | undefined {
  const { deletionTimestamp } = node.metadata;
  const deletedAt = deletionTimestamp === undefined ? Number.NaN : Date.parse(deletionTimestamp);
  const times = [deletedAt, taintedAt(node) ?? Number.NaN].filter((time) => !Number.isNaN(time));
  return times.length === 0 ? undefined : Math.min(...times);
}

export type Departures = ReadonlyMap<NodeName, number>;

/** `now` and the times are milliseconds since 1970; never later than now, whatever another clock says. */
export function departuresOf(
  nodes: readonly Node[],
  known: Departures,
  /** Whether it was a target the last time somebody looked. */
  wasTarget: (name: NodeName) => boolean,
  now: number,
): Departures {
  const departures = new Map<NodeName, number>();
  for (const node of nodes) {
    const name = nodeName(node.metadata.name);
    const isExcludedOnly = isExcluded(node) && !isDraining(node);
    if (!isDraining(node) && !isExcludedOnly) continue;
    if (isExcluded(node) && !known.has(name) && !wasTarget(name)) continue;
    departures.set(name, Math.min(known.get(name) ?? now, saidAt(node) ?? now));
  }
  return departures;
}

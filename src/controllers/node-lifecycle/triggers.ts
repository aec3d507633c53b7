// Enqueues Nodes during a leadership session: after relevant changes, and when the inventory has answered their lookups.

import type { InventoryUpdate } from "../../cloud/inventory/instances.ts";
import type { Node } from "../../kube/objects.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { Subscriptions } from "../kernel/run-controller.ts";
import { isManagedBy, type NodeDeps } from "../node-deps.ts";
import { hasTaint, isReady, outOfServiceOf, readiness } from "../node-facts.ts";
import type { PendingLookups } from "../pending-lookups.ts";
import { shutdownTaint } from "../well-known.ts";
import type { Candidates } from "./candidates.ts";

export interface TriggerDeps extends Pick<NodeDeps, "nodes" | "inventory" | "isSelected"> {
  readonly queue: WorkQueue;
  readonly candidates: Candidates;
  readonly pendingLookups: PendingLookups;
  /** Called when the inventory has new answers. */
  readonly onInventoryUpdate: (update: InventoryUpdate) => void;
}

export function* startTriggers(deps: TriggerDeps): Subscriptions {
  const { nodes, inventory, queue, candidates, pendingLookups, onInventoryUpdate } = deps;
  const isRelevantChange = (before: Node | undefined, after: Node | undefined): boolean =>
    before === undefined ||
    after === undefined ||
    !isSameForLifecycle(before, after) ||
    isManagedBy(deps, before) !== isManagedBy(deps, after);

  yield nodes.subscribe(({ key, before, after }) => {
    if (!isRelevantChange(before, after)) return;
    if (after === undefined || isOfInterest(after) || candidates.all.has(key)) queue.add(key);
  });
  yield inventory.subscribe((update) => {
    onInventoryUpdate(update);
    for (const name of pendingLookups.keys) queue.add(name);
  });
  // Subscribers receive only later changes, so the existing Nodes are enqueued once.
  for (const { metadata } of nodes.list()) queue.add(metadata.name);
}

/**
 * Whether the Node is not Ready, or has a taint that Fairlead removes from Ready Nodes. All other Nodes are healthy and
 * stay unchanged.
 */
export function isOfInterest(node: Node): boolean {
  return (
    !isReady(node) || hasTaint(node, shutdownTaint, "NoSchedule") || outOfServiceOf(node) === "Fairlead's"
  );
}

/** Whether everything that decisions depend on is unchanged. */
function isSameForLifecycle(a: Node, b: Node): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    readiness(a) === readiness(b) &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    a.spec.providerID === b.spec.providerID &&
    a.spec.unschedulable === b.spec.unschedulable &&
    JSON.stringify(a.spec.taints) === JSON.stringify(b.spec.taints) &&
    JSON.stringify(a.metadata.annotations) === JSON.stringify(b.metadata.annotations)
  );
}

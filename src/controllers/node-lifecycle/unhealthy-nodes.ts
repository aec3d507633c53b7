// Selects the Nodes and the changes that concern the lifecycle controller. Changes of a healthy Node almost never do.
// Pure.

import type { Node } from "../../kube/objects.ts";
import { hasTaint, isReady, readiness } from "../node-facts.ts";
import { shutdownTaint } from "../well-known.ts";

/** Not Ready, or with the shutdown taint. All other Nodes are healthy and left alone. */
export function isOfInterest(node: Node): boolean {
  return !isReady(node) || hasTaint(node, shutdownTaint, "NoSchedule");
}

/** Whether nothing changed that a decision depends on. */
export function isSameForLifecycle(a: Node, b: Node): boolean {
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

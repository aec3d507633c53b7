// Which Nodes and which of their changes concern us: nearly all of what thousands of healthy Nodes tell does not. Pure.

import type { Node } from "../../kube/objects.ts";
import { hasTaint, isReady, readiness } from "../node-facts.ts";
import { shutdownTaint } from "../well-known.ts";

/** Not Ready, or marked as switched off: the others are healthy, whatever the cloud says. */
export function isOfInterest(node: Node): boolean {
  return !isReady(node) || hasTaint(node, shutdownTaint, "NoSchedule");
}

/** Whether nothing changed that a decision rests on. */
export function sameForUs(a: Node, b: Node): boolean {
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

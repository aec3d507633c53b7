// What a Node object says about itself, in the questions that controllers ask. Pure, and without opinions.

import type { NodeIdentity } from "../cloud/identity.ts";
import { type NodeName, nodeName, type ProviderID } from "../core/brand.ts";
import type { Node, Taint } from "../kube/objects.ts";
import { leavingTaints, pausedAnnotation, uninitializedTaint } from "./well-known.ts";

export const nameOf = (node: Node): NodeName => nodeName(node.metadata.name);

export function identityOf(node: Node): NodeIdentity {
  return {
    name: nameOf(node),
    addresses: (node.status.addresses ?? []).map(({ address }) => address),
    ...(node.spec.providerID !== undefined &&
      node.spec.providerID !== "" && { providerID: node.spec.providerID as ProviderID }),
    ...(node.status.nodeInfo?.systemUUID !== undefined && { uuid: node.status.nodeInfo.systemUUID }),
  };
}

export const taintsOf = (node: Node): readonly Taint[] => node.spec.taints ?? [];

/** By key and effect, as upstream matches; the value does not matter. */
export function hasTaint(node: Node, key: string, effect: string): boolean {
  return taintsOf(node).some((taint) => taint.key === key && taint.effect === effect);
}

/** Any effect and value: whoever put it there waits for a cloud controller manager. */
export function isUninitialized(node: Node): boolean {
  return taintsOf(node).some(({ key }) => key === uninitializedTaint);
}

/** "Unknown" where the Node has no such condition, as upstream. */
export function readiness(node: Node): string {
  return node.status.conditions?.find(({ type }) => type === "Ready")?.status ?? "Unknown";
}

export const isReady = (node: Node): boolean => readiness(node) === "True";

/** Anything but a plain "false" pauses: who wrote "yes" did not mean "go on". */
export function isPaused({ metadata }: Node): boolean {
  return (metadata.annotations?.[pausedAnnotation] ?? "false") !== "false";
}

export const isBeingDeleted = (node: Node): boolean => node.metadata.deletionTimestamp !== undefined;

/** Somebody has said before that this Node is about to leave. */
export function isLeaving(node: Node): boolean {
  return (
    isBeingDeleted(node) ||
    node.spec.unschedulable === true ||
    taintsOf(node).some(({ key }) => (leavingTaints as readonly string[]).includes(key))
  );
}

export function ageOf(node: Node, now: number): number {
  const created = Date.parse(node.metadata.creationTimestamp ?? "");
  return Number.isNaN(created) ? 0 : now - created;
}

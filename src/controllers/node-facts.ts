// What a Node object says about itself, in the questions that controllers ask. Pure, and without opinions.

import type { NodeIdentity } from "../cloud/identity.ts";
import { type NodeName, nodeName, type ProviderID } from "../core/brand.ts";
import type { Node, Taint } from "../kube/objects.ts";
import { leavingTaints, pausedAnnotation, uninitializedTaint } from "./well-known.ts";

export const nameOf = (node: Node): NodeName => nodeName(node.metadata.name);

export const identityOf = (node: Node): NodeIdentity => ({
  name: nameOf(node),
  addresses: (node.status.addresses ?? []).map(({ address }) => address),
  ...(node.spec.providerID !== undefined &&
    node.spec.providerID !== "" && { providerID: node.spec.providerID as ProviderID }),
  ...(node.status.nodeInfo?.systemUUID !== undefined && { uuid: node.status.nodeInfo.systemUUID }),
});

export const taintsOf = (node: Node): readonly Taint[] => node.spec.taints ?? [];

/** By key and effect, as upstream matches; the value does not matter. */
export const hasTaint = (node: Node, key: string, effect: string): boolean =>
  taintsOf(node).some((taint) => taint.key === key && taint.effect === effect);

/** Any effect and value: whoever put it there waits for a cloud controller manager. */
export const isUninitialized = (node: Node): boolean =>
  taintsOf(node).some(({ key }) => key === uninitializedTaint);

/** "Unknown" where the Node has no such condition, as upstream. */
export const readiness = (node: Node): string =>
  node.status.conditions?.find(({ type }) => type === "Ready")?.status ?? "Unknown";

export const isReady = (node: Node): boolean => readiness(node) === "True";

/** Anything but a plain "false" pauses: who wrote "yes" did not mean "go on". */
export const isPaused = ({ metadata }: Node): boolean =>
  (metadata.annotations?.[pausedAnnotation] ?? "false") !== "false";

export const isBeingDeleted = (node: Node): boolean => node.metadata.deletionTimestamp !== undefined;

/** Somebody has said before that this Node is about to leave. */
export const isLeaving = (node: Node): boolean =>
  isBeingDeleted(node) ||
  node.spec.unschedulable === true ||
  taintsOf(node).some(({ key }) => (leavingTaints as readonly string[]).includes(key));

export const ageOf = (node: Node, now: number): number => {
  const created = Date.parse(node.metadata.creationTimestamp ?? "");
  return Number.isNaN(created) ? 0 : now - created;
};

// Applies the decision about a Node: one of the two taints, or the deletion with its event.

import { isKubeError } from "../../kube/errors/kube-error.ts";
import { type Node, type Taint, toTime } from "../../kube/objects.ts";
import { guardedNodePatch } from "../../kube/patches/node-patch.ts";
import type { NodeDeps } from "../node-deps.ts";
import { taintsOf } from "../node-facts.ts";
import { outOfServiceAnnotation, outOfServiceTaint, shutdownTaint } from "../well-known.ts";
import { deletingNode, deletingNodeFailed, outOfServiceChanged } from "./texts.ts";

/** Sets or removes the shutdown taint; other taints stay unchanged. Returns false in observe mode. */
export async function setShutdownTaint(
  node: Node,
  isShutDown: boolean,
  { writes, note }: Pick<NodeDeps, "writes" | "note">,
  signal: AbortSignal,
): Promise<boolean> {
  const present = taintsOf(node);
  const isShutdownTaint = ({ key, effect }: Taint) => key === shutdownTaint && effect === "NoSchedule";
  const desired = { key: shutdownTaint, effect: "NoSchedule" };
  const taints = !isShutDown
    ? present.filter((taint) => !isShutdownTaint(taint))
    : present.some(isShutdownTaint)
      ? present.map((taint) => (isShutdownTaint(taint) ? desired : taint))
      : [...present, desired];
  const patch = guardedNodePatch({ node, taints });
  const why = isShutDown ? "the instance is shut down" : "the instance is running again";
  const written = patch && (await writes.patch(node, patch, why, signal));
  if (written === undefined) return false;
  note(`Shutdown taint ${isShutDown ? "set" : "removed"}: ${why}`, { node: node.metadata.name });
  return true;
}

/**
 * Sets the out-of-service taint, or removes the taint that Fairlead set. The API server rejects the write if the Node has
 * changed, perhaps because it is Ready again. Returns false in observe mode.
 */
export async function setOutOfServiceTaint(
  node: Node,
  { isSet, why }: { readonly isSet: boolean; readonly why: string },
  { writes, report, clock }: Pick<NodeDeps, "writes" | "report" | "clock">,
  signal: AbortSignal,
): Promise<boolean> {
  const since = isSet ? toTime(clock.now()) : undefined;
  const key = outOfServiceTaint;
  const others = taintsOf(node).filter((taint) => taint.key !== key || taint.effect !== "NoExecute");
  const patch = guardedNodePatch({
    node,
    taints:
      since === undefined
        ? others
        : [...others, { key, value: "nodeshutdown", effect: "NoExecute", timeAdded: since }],
    annotations: { [outOfServiceAnnotation]: since },
    isUnchanged: isSet,
  });
  const written = patch && (await writes.patch(node, patch, why, signal));
  if (written === undefined) return false;
  report(node, outOfServiceChanged(isSet, why));
  return true;
}

/**
 * Deletes a Node whose instance is proved to be gone. The API server rejects the delete if the Node has changed, perhaps
 * because it is Ready again. Returns false in observe mode.
 */
export async function removeNode(
  node: Node,
  { writes, report }: Pick<NodeDeps, "writes" | "report">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const isDeleted = await writes.delete(node, "the instance no longer exists", signal);
    if (isDeleted) report(node, deletingNode(node));
    return isDeleted;
  } catch (error) {
    // Not a failure: the Node has changed, is already deleted, or leadership was lost.
    if (!isKubeError(error, "conflict", "not-found", "fenced")) report(node, deletingNodeFailed(node, error));
    throw error;
  }
}

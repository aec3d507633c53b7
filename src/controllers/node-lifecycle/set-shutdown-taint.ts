// Sets the taint of switched-off machines on a Node, or takes it away; all other taints stay as they are.

import type { Node } from "../../kube/objects.ts";
import { guardedNodePatch } from "../../kube/patches/node-patch.ts";
import type { NodeDeps } from "../node-deps.ts";
import { taintsOf } from "../node-facts.ts";
import { shutdownTaint } from "../well-known.ts";

/** Whether it was written, and not only observed. */
export async function setShutdownTaint(
  node: Node,
  isOff: boolean,
  { writes, note }: Pick<NodeDeps, "writes" | "note">,
  signal: AbortSignal,
): Promise<boolean> {
  const others = taintsOf(node).filter(({ key, effect }) => key !== shutdownTaint || effect !== "NoSchedule");
  const taints = isOff ? [...others, { key: shutdownTaint, effect: "NoSchedule" }] : others;
  const patch = guardedNodePatch({ node, taints });
  const why = isOff ? "its machine is switched off" : "its machine runs again";
  const written = patch && (await writes.patch(node, patch, why, signal));
  if (written === undefined) return false;
  note(`Shutdown taint ${isOff ? "set" : "removed"}: ${why}`, { node: node.metadata.name });
  return true;
}

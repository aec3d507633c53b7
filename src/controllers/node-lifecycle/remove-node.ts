// Deletes a Node whose machine is proved to be gone, and says so on it. The server refuses if it changed since, perhaps
// because it is Ready again.

import { messageOf } from "../../core/errors.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import type { Node } from "../../kube/objects.ts";
import type { NodeDeps } from "../node-deps.ts";

/** Whether it was deleted, and not only observed. */
export async function removeNode(
  node: Node,
  { writes, report }: Pick<NodeDeps, "writes" | "report">,
  signal: AbortSignal,
): Promise<boolean> {
  const { name } = node.metadata;
  try {
    const isGone = await writes.delete(node, "its machine is proved to be gone", signal);
    if (isGone) {
      report(node, {
        type: "Normal",
        reason: "DeletingNode",
        message: `Deleting node ${name} because it does not exist in the cloud provider`,
      });
    }
    return isGone;
  } catch (error) {
    // Changed meanwhile, gone already, or no longer ours to delete: it was not a failure.
    if (!isKubeError(error, "conflict", "not-found", "fenced")) {
      report(node, {
        type: "Warning",
        reason: "DeletingNodeFailed",
        message: `Failed deleting node ${name}: ${messageOf(error)}`,
      });
    }
    throw error;
  }
}

// Writes to a Node what was planned for it, in an order that others may rely on, and remembers the writes so that their
// echoes wake nobody.

import type { Node } from "../../kube/objects.ts";
import { guardedNodePatch, nodeAddressesPatch } from "../../kube/patches/node-patch.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { NodeWrites } from "../node-deps.ts";
import { taintsOf } from "../node-facts.ts";
import { uninitializedTaint } from "../well-known.ts";
import type { OwnWrites } from "../writes/own-writes.ts";
import type { NodePlan } from "./plan.ts";

/** Gives back the Node as it is then: the same one when nothing was to be written, or nothing was sent. */
export type Apply = (node: Node, plan: NodePlan, why: string, signal: AbortSignal) => Promise<Node>;

export function createApplyPlan(
  writes: NodeWrites,
  ownWrites: OwnWrites<Node>,
  /** Something came meanwhile that was not of our making. */
  recheck: (name: string) => void,
): Apply {
  const patched = async (node: Node, patch: Patch, why: string, signal: AbortSignal): Promise<Node> => {
    const { name } = node.metadata;
    let written: Node | undefined;
    ownWrites.begin(name);
    try {
      written = await writes.patch(node, patch, why, signal);
    } finally {
      if (ownWrites.end(name, { base: node, patch, written })) recheck(name);
    }
    return written ?? node;
  };

  /** Addresses first: whoever sees the taint gone sees everything else in place. */
  return async (node, plan, why, signal) => {
    let current = node;
    const addresses = plan.addresses && nodeAddressesPatch(current, plan.addresses);
    if (addresses !== undefined) current = await patched(current, addresses, why, signal);
    const rest = guardedNodePatch({
      node: current,
      labels: plan.labels,
      ...(plan.providerID !== undefined && { providerID: plan.providerID }),
      ...(plan.removeUninitializedTaint && {
        taints: taintsOf(current).filter(({ key }) => key !== uninitializedTaint),
      }),
    });
    return rest === undefined ? current : patched(current, rest, why, signal);
  };
}

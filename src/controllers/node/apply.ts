// Writes a plan to its Node: addresses first, and then everything else in one patch. Registers the writes, so that their
// watch events do not enqueue the Node again.

import { defined } from "../../core/defined.ts";
import type { Node } from "../../kube/objects.ts";
import { guardedNodePatch, nodeAddressesPatch } from "../../kube/patches/node-patch.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { OwnWrites } from "../kernel/own-writes.ts";
import type { NodeWrites } from "../node-deps.ts";
import { taintsOf } from "../node-facts.ts";
import { uninitializedTaint } from "../well-known.ts";
import { isSameTaint } from "./desired/cloud-taints.ts";
import type { NodePlan } from "./plan.ts";

export interface ApplyContext {
  readonly writes: NodeWrites;
  readonly ownWrites: OwnWrites<Node>;
  /** Called when another client changed the Node during a write. */
  readonly enqueue: (name: string) => void;
}

/**
 * Returns the written Node, or the same Node if nothing was sent. Other programs rely on the order: when the uninitialized
 * taint is removed, everything else is set.
 */
export async function applyPlan(
  node: Node,
  plan: Omit<NodePlan, "problems">,
  why: string,
  context: ApplyContext,
  signal: AbortSignal,
): Promise<Node> {
  const addresses = plan.addresses && nodeAddressesPatch(node, plan.addresses);
  const current = addresses === undefined ? node : await write(node, addresses, why, context, signal);
  const { set, removed } = plan.taints ?? { set: [], removed: [] };
  const kept = taintsOf(current).filter(
    (taint) =>
      !(plan.removeUninitializedTaint && taint.key === uninitializedTaint) &&
      !removed.some((one) => isSameTaint(one, taint)),
  );
  const taints = plan.removeUninitializedTaint || plan.taints ? [...kept, ...set] : undefined;
  const others = guardedNodePatch({
    node: current,
    labels: plan.labels,
    ...defined({
      providerID: plan.providerID,
      annotations: plan.annotations,
      taints,
      toAddresses: taints && current.status.addresses,
    }),
  });
  return others === undefined ? current : write(current, others, why, context, signal);
}

async function write(
  node: Node,
  patch: Patch,
  why: string,
  { writes, ownWrites, enqueue }: ApplyContext,
  signal: AbortSignal,
): Promise<Node> {
  const { name } = node.metadata;
  let written: Node | undefined;
  ownWrites.begin(name);
  try {
    written = await writes.patch(node, patch, why, signal);
  } finally {
    if (ownWrites.end(name, { base: node, patch, written })) enqueue(name);
  }
  return written ?? node;
}

// The condition NetworkUnavailable of every Node, as the last pass judged its routes: written after the pass, Node by Node,
// so that one that cannot be written holds up no other.

import { isKubeError } from "../../../kube/errors/kube-error.ts";
import { nodeConditionsPatch } from "../../../kube/patches/node-patch.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { isPaused } from "../../node-facts.ts";
import type { RouteControllerOptions } from "../deps.ts";
import { planNetworkCondition } from "./plan-condition.ts";

export function createConditions(
  {
    nodes,
    writes,
    clock,
    isSelected,
  }: Pick<RouteControllerOptions, "nodes" | "writes" | "clock" | "isSelected">,
  /** The condition of this Node is to be written. */
  enqueue: (name: string) => void,
) {
  let decisions: ReadonlyMap<string, boolean> = new Map();

  const planned = (name: string) => {
    const node = nodes.get(name);
    const hasRoutes = node && decisions.get(node.metadata.uid);
    if (node === undefined || hasRoutes === undefined) return undefined;
    const condition = planNetworkCondition(node, hasRoutes, clock.now());
    const why = hasRoutes ? "its routes are there" : "a route of it is missing";
    return condition && { node, condition, why };
  };

  /** By the uid of the Node, whether it has its routes; nothing is said of those that are missing here. */
  const judge = (next: ReadonlyMap<string, boolean>): void => {
    decisions = next;
    for (const { metadata } of nodes.list()) if (planned(metadata.name) !== undefined) enqueue(metadata.name);
  };

  const write = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    const plan = planned(name);
    if (plan === undefined || isPaused(plan.node) || !isSelected(plan.node)) return settled;
    try {
      await writes.patch(plan.node, nodeConditionsPatch(plan.node, [plan.condition]), plan.why, signal);
    } catch (error) {
      // Another Node has the name now, or none: then a change of the Node brings the next look.
      if (!isKubeError(error, "precondition", "not-found")) throw error;
    }
    return settled;
  };

  return { judge, write };
}

export type Conditions = ReturnType<typeof createConditions>;

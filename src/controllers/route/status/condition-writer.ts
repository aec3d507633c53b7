// Writes the NetworkUnavailable conditions that the last sync decided, Node by Node, so that a failed write does not
// delay other Nodes.

import { isKubeError } from "../../../kube/errors/kube-error.ts";
import { nodeConditionsPatch } from "../../../kube/patches/node-patch.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { isPaused } from "../../pause.ts";
import type { RouteControllerOptions } from "../deps.ts";
import { planNetworkCondition } from "./network-condition.ts";

type ConditionWriterOptions = Pick<RouteControllerOptions, "nodes" | "writes" | "clock" | "isSelected">;

export class ConditionWriter {
  readonly #options: ConditionWriterOptions;
  /** Called with every Node whose condition must be written. */
  readonly #enqueue: (name: string) => void;
  #decisions: ReadonlyMap<string, boolean> = new Map();

  constructor(options: ConditionWriterOptions, enqueue: (name: string) => void) {
    this.#options = options;
    this.#enqueue = enqueue;
  }

  /** Whether each Node has its routes, by uid. The conditions of Nodes that are not in the map stay as they are. */
  update(decisions: ReadonlyMap<string, boolean>): void {
    this.#decisions = decisions;
    for (const { metadata } of this.#options.nodes.list()) {
      if (this.#plan(metadata.name) !== undefined) this.#enqueue(metadata.name);
    }
  }

  async write(name: string, signal: AbortSignal): Promise<Outcome> {
    const { writes, isSelected } = this.#options;
    const plan = this.#plan(name);
    if (plan === undefined || isPaused(plan.node) || !isSelected(plan.node)) return settled;
    try {
      await writes.patch(plan.node, nodeConditionsPatch(plan.node, [plan.condition]), plan.why, signal);
    } catch (error) {
      // Another Node has the name now, or none. If there is one, its change causes the next sync.
      if (!isKubeError(error, "precondition", "not-found")) throw error;
    }
    return settled;
  }

  #plan(name: string) {
    const { nodes, clock } = this.#options;
    const node = nodes.get(name);
    const hasRoutes = node && this.#decisions.get(node.metadata.uid);
    if (node === undefined || hasRoutes === undefined) return undefined;
    const condition = planNetworkCondition(node, hasRoutes, clock.now());
    const why = hasRoutes ? "all routes of the Node exist" : "a route of the Node is missing";
    return condition && { node, condition, why };
  }
}

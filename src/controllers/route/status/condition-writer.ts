// Combines what the last sync of each table decided, and writes the NetworkUnavailable conditions, Node by Node, so that a failed
// write does not delay other Nodes.

import { isKubeError } from "../../../kube/errors/kube-error.ts";
import { nodeConditionsPatch } from "../../../kube/patches/node-patch.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { isPaused } from "../../pause.ts";
import type { RouteControllerOptions } from "../deps.ts";
import type { DesiredRoutes } from "../desired/plan-desired.ts";
import { planNetworkCondition } from "./network-condition.ts";

type ConditionWriterOptions = Pick<RouteControllerOptions, "nodes" | "writes" | "clock" | "isSelected">;

type TablesOfNode = DesiredRoutes["tablesOfNode"];

export class ConditionWriter {
  readonly #options: ConditionWriterOptions;
  /** Called with every Node whose condition must be written. */
  readonly #enqueue: (name: string) => void;
  /** Whether each Node has its routes in a table, by table and uid. Nodes that are not decided yet are omitted. */
  readonly #byTable = new Map<string | undefined, ReadonlyMap<string, boolean>>();
  /** The tables that each Node needs, by uid. */
  #tablesOfNode: TablesOfNode = new Map();

  constructor(options: ConditionWriterOptions, enqueue: (name: string) => void) {
    this.#options = options;
    this.#enqueue = enqueue;
  }

  /** Another replica may have been the leader since. */
  clear(): void {
    this.#byTable.clear();
    this.#tablesOfNode = new Map();
  }

  /** Replaces the decisions of a table, by uid. The conditions of Nodes that are not decided stay as they are. */
  update(
    table: string | undefined,
    decisions: ReadonlyMap<string, boolean>,
    tablesOfNode: TablesOfNode,
  ): void {
    this.#byTable.set(table, decisions);
    this.#tablesOfNode = tablesOfNode;
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

  /** Only when every table that serves the Node has its routes; undefined while one is not decided. */
  #hasRoutes(uid: string): boolean | undefined {
    const found = [...(this.#tablesOfNode.get(uid) ?? [])].map((table) => this.#byTable.get(table)?.get(uid));
    if (found.includes(false)) return false;
    return found.length > 0 && !found.includes(undefined) ? true : undefined;
  }

  #plan(name: string) {
    const { nodes, clock } = this.#options;
    const node = nodes.get(name);
    const hasRoutes = node && this.#hasRoutes(node.metadata.uid);
    if (node === undefined || hasRoutes === undefined) return undefined;
    const condition = planNetworkCondition(node, hasRoutes, clock.now());
    const why = hasRoutes ? "all routes of the Node exist" : "a route of the Node is missing";
    return condition && { node, condition, why };
  }
}

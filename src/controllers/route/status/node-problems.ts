// Reports the problems of routes that concern single Nodes, as events. One that several tables have in common is reported once.

import type { Problem } from "../../../core/problem.ts";
import type { NodeEvent } from "../../node-deps.ts";
import { ReportDeduplicator } from "../../report-deduplicator.ts";
import type { RouteControllerOptions } from "../deps.ts";
import { massRouteRecreationReason } from "../events.ts";

type ProblemsByNode = ReadonlyMap<string, readonly Problem[]>;

export class NodeProblems {
  readonly #options: Pick<RouteControllerOptions, "nodes" | "report">;
  readonly #byTable = new Map<string | undefined, ProblemsByNode>();
  readonly #reported = new ReportDeduplicator();

  constructor(options: Pick<RouteControllerOptions, "nodes" | "report">) {
    this.#options = options;
  }

  /** The active problems, by Node. */
  get all(): ProblemsByNode {
    const names = new Set([...this.#byTable.values()].flatMap((byNode) => [...byNode.keys()]));
    return new Map([...names].map((name) => [name, this.#of(name)]));
  }

  /** Another replica may have led since. */
  clear(): void {
    this.#byTable.clear();
  }

  /** Replaces the problems that this table has with each Node. */
  report(table: string | undefined, byNode: ProblemsByNode): void {
    this.#byTable.set(table, byNode);
    const names = this.#options.nodes.list().map(({ metadata }) => metadata.name);
    this.#reported.forgetAllBut(new Set(names));
    for (const name of names) {
      for (const { reason, text } of this.#reported.news(name, this.#of(name))) {
        // One line about the hold is logged for all Nodes.
        const quiet = reason === massRouteRecreationReason ? ({ quiet: true } as const) : {};
        this.send(name, { type: "Warning", reason, message: text, ...quiet });
      }
    }
  }

  #of(name: string): readonly Problem[] {
    return [...this.#byTable.values()].flatMap((problemsOf) => problemsOf.get(name) ?? []);
  }

  send(name: string, event: NodeEvent): void {
    const node = this.#options.nodes.get(name);
    if (node !== undefined) this.#options.report(node, event);
  }
}

// What keeps Nodes from being initialised, so that it is said once per change, and counted.

import type { Problem } from "../../core/problem.ts";
import { ReportDeduplicator } from "../report-deduplicator.ts";

export interface NodeProblem {
  readonly problem: Problem;
  /** Attempts in a row that ended in any trouble. */
  readonly count: number;
}

export class ProblemTracker {
  readonly #byNode = new Map<string, NodeProblem>();
  readonly #reported = new ReportDeduplicator();

  get all(): ReadonlyMap<string, NodeProblem> {
    return this.#byNode;
  }

  /** Those that are remembered for anything. */
  get names(): readonly string[] {
    return [...new Set([...this.#byNode.keys(), ...this.#reported.subjects])];
  }

  add(name: string, problem: Problem): NodeProblem {
    const nodeProblem = { problem, count: (this.#byNode.get(name)?.count ?? 0) + 1 };
    this.#byNode.set(name, nodeProblem);
    return nodeProblem;
  }

  clear(name: string): void {
    this.#byNode.delete(name);
  }

  forget(name: string): void {
    this.#byNode.delete(name);
    this.#reported.forget(name);
  }

  /** The problems that were not told of this Node the last time; repeats are not news. */
  news(name: string, problems: readonly Problem[]): readonly Problem[] {
    return this.#reported.news(name, problems);
  }
}

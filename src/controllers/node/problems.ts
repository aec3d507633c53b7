// Remembers what keeps each Node from being initialized, with the number of failed attempts, and what was reported about it.

import type { Problem } from "../../core/problem.ts";
import { ReportDeduplicator } from "../report-deduplicator.ts";

export interface NodeProblem {
  readonly problem: Problem;
  /** Failed attempts in a row, with any problem. */
  readonly count: number;
}

export class ProblemTracker {
  readonly #byNode = new Map<string, NodeProblem>();
  readonly #reported = new ReportDeduplicator();

  get all(): ReadonlyMap<string, NodeProblem> {
    return this.#byNode;
  }

  /** All Nodes with a record. */
  get names(): readonly string[] {
    return [...new Set([...this.#byNode.keys(), ...this.#reported.subjects])];
  }

  add(name: string, problem: Problem): NodeProblem {
    const nodeProblem = { problem, count: (this.#byNode.get(name)?.count ?? 0) + 1 };
    this.#byNode.set(name, nodeProblem);
    return nodeProblem;
  }

  /** Like `add`, but without a failed attempt. */
  note(name: string, problem: Problem): void {
    this.#byNode.set(name, { problem, count: this.#byNode.get(name)?.count ?? 0 });
  }

  clear(name: string): void {
    this.#byNode.delete(name);
  }

  forget(name: string): void {
    this.#byNode.delete(name);
    this.#reported.forget(name);
  }

  /** The problems that were not reported about this Node the last time. */
  news(name: string, problems: readonly Problem[]): readonly Problem[] {
    return this.#reported.news(name, problems);
  }
}

// What keeps Nodes from being initialised, so that it is said once per change, and counted.

import type { Problem } from "../../core/problem.ts";
import { ToldOnce } from "../report-deduplicator.ts";

export interface Trouble {
  readonly problem: Problem;
  /** Attempts in a row that ended in any trouble. */
  readonly count: number;
}

export class Troubles {
  readonly #byNode = new Map<string, Trouble>();
  readonly #told = new ToldOnce();

  get all(): ReadonlyMap<string, Trouble> {
    return this.#byNode;
  }

  /** Those that are remembered for anything. */
  get names(): readonly string[] {
    return [...new Set([...this.#byNode.keys(), ...this.#told.subjects])];
  }

  add(name: string, problem: Problem): Trouble {
    const trouble = { problem, count: (this.#byNode.get(name)?.count ?? 0) + 1 };
    this.#byNode.set(name, trouble);
    return trouble;
  }

  clear(name: string): void {
    this.#byNode.delete(name);
  }

  forget(name: string): void {
    this.#byNode.delete(name);
    this.#told.forget(name);
  }

  /** The problems that were not told of this Node the last time; repeats are not news. */
  news(name: string, problems: readonly Problem[]): readonly Problem[] {
    return this.#told.news(name, problems);
  }
}

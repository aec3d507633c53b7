// What was said last about each subject, so that the same thing is not said again while it stays true.

import type { Problem } from "../../core/problem.ts";

export class ToldOnce {
  readonly #told = new Map<string, ReadonlySet<string>>();

  /** Those that were not said the last time; what has gone is news again when it comes back. */
  news(subject: string, problems: readonly Problem[]): readonly Problem[] {
    const before = this.#told.get(subject);
    if (problems.length === 0) this.#told.delete(subject);
    else this.#told.set(subject, new Set(problems.map(({ text }) => text)));
    const fresh = new Map<string, Problem>();
    for (const problem of problems) if (before?.has(problem.text) !== true) fresh.set(problem.text, problem);
    return [...fresh.values()];
  }

  forgetAllBut(subjects: ReadonlySet<string>): void {
    for (const subject of this.#told.keys()) if (!subjects.has(subject)) this.#told.delete(subject);
  }
}

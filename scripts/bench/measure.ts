// Runs parts one after the other, because they would share the processors. One that fails is told and left out of its table;
// the others are measured all the same.

import { messageOf } from "../../src/core/errors.ts";
import type { Chapter } from "./parts.ts";
import { type Say, sayProgress } from "./progress.ts";
import type { Section } from "./section.ts";

export interface Failure {
  readonly title: string;
  readonly why: string;
}

export interface Measured {
  /** Without tables of which no part came to its end. */
  readonly sections: readonly Section[];
  readonly failures: readonly Failure[];
}

export async function measure(
  chapters: readonly Chapter[],
  runs: number,
  say: Say = sayProgress,
): Promise<Measured> {
  const sections: Section[] = [];
  const failures: Failure[] = [];
  const total = chapters.reduce((sum, { parts }) => sum + parts.length, 0) * runs;
  let begun = 0;
  for (const { parts, toSection } of chapters) {
    const done: unknown[] = [];
    for (const { title, run } of parts) {
      for (let count = 0; count < runs; count += 1) {
        begun += 1;
        say(`${begun}/${total} ${title}`);
        try {
          done.push(await run());
        } catch (error) {
          const why = messageOf(error);
          say(`  failed: ${why}`);
          failures.push({ title, why });
        }
      }
    }
    if (done.length > 0) sections.push(toSection(done));
  }
  return { sections, failures };
}

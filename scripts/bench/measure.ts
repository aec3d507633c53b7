// Runs benchmarks one after the other, because they would compete for the processors. A failed benchmark is reported and left
// out of its table.

import { messageOf } from "../../src/core/error-message.ts";
import type { BenchmarkGroup } from "./benchmarks.ts";
import { type Print, printProgress } from "./progress.ts";
import type { Section } from "./section.ts";

export interface Failure {
  readonly title: string;
  readonly why: string;
}

export interface Measured {
  /** Tables without any result are left out. */
  readonly sections: readonly Section[];
  readonly failures: readonly Failure[];
  /** The result of each run, before it is rounded for a table. */
  readonly runs: readonly { readonly title: string; readonly result: unknown }[];
}

export async function measure(
  groups: readonly BenchmarkGroup[],
  runs: number,
  print: Print = printProgress,
): Promise<Measured> {
  const sections: Section[] = [];
  const failures: Failure[] = [];
  const all: { title: string; result: unknown }[] = [];
  const total = groups.reduce((sum, { benchmarks }) => sum + benchmarks.length, 0) * runs;
  let started = 0;
  for (const { benchmarks, toSection } of groups) {
    const done: unknown[] = [];
    for (const { title, run } of benchmarks) {
      for (let count = 0; count < runs; count += 1) {
        started += 1;
        print(`${started}/${total} ${title}`);
        try {
          const result = await run();
          done.push(result);
          all.push({ title, result });
        } catch (error) {
          const why = messageOf(error);
          print(`  failed: ${why}`);
          failures.push({ title, why });
        }
      }
    }
    if (done.length > 0) sections.push(toSection(done));
  }
  return { sections, failures, runs: all };
}

// Tests the page of the benchmarks, and that a failed benchmark does not affect others.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { BenchmarkGroup } from "../../scripts/bench/benchmarks.ts";
import { measure } from "../../scripts/bench/measure.ts";
import { describeCircumstances, insertInto, pageOf } from "../../scripts/bench/page.ts";
import { sectionOf } from "../../scripts/bench/section.ts";

const circumstances = {
  date: "2026-01-02",
  executable: "x-cloud-controller-manager v1",
  machine: "2 × Some processor",
  load: "0.10",
  cloud: "simulated",
};

interface Run {
  readonly server: string;
  readonly count: number;
}

const counted = (counts: readonly number[]): BenchmarkGroup => ({
  benchmarks: counts.map((count) => ({
    title: `${count} things`,
    run: async () => {
      if (count === 2) throw new Error("Waited 600 s for 2 things.\nmore of it");
      return { server: "test API server", count };
    },
  })),
  toSection: (runs) => sectionOf("Things", [["Count", (run) => String(run.count)]], runs as readonly Run[]),
});

describe("a run of all benchmarks", () => {
  test("continues after a failed benchmark, and reports the failure", async () => {
    const printed: string[] = [];
    const measured = await measure([counted([1, 2, 3]), counted([2])], 1, (text) => printed.push(text));
    expect(printed.filter((line) => /^\d/.test(line))).toEqual([
      "1/4 1 things",
      "2/4 2 things",
      "3/4 3 things",
      "4/4 2 things",
    ]);
    expect(pageOf(circumstances, measured)).toBe(`${describeCircumstances(circumstances)}

- **2 things** failed: Waited 600 s for 2 things.
- **2 things** failed: Waited 600 s for 2 things.

### Things

API server: test API server.

| Count |
|---|
| 1 |
| 3 |
`);
  });

  test("repeats each benchmark --runs times, in one table", async () => {
    const { sections, runs } = await measure([counted([1])], 3, () => undefined);
    expect(runs.map(({ title }) => title)).toEqual(Array(3).fill(runs[0]?.title));
    expect(sections.map(({ table }) => table.split("\n").slice(2))).toEqual([["| 1 |", "| 1 |", "| 1 |"]]);
  });
});

describe.each([
  ["docs/benchmarks.md", "all"],
  ["docs/benchmarks.md", "peers"],
  ["README.md", "peers"],
])("%s", (file, benchmark) => {
  const document = readFileSync(resolve(import.meta.dir, "../..", file), "utf8");

  test(`replaces the figures of ${benchmark} and keeps the surrounding text`, () => {
    const once = insertInto(document, benchmark, "FIGURES\n");
    expect(once).toContain("\n\nFIGURES\n\n");
    const twice = insertInto(once, benchmark, "OTHERS");
    expect(twice).not.toContain("FIGURES");
    const words = (text: string) => insertInto(text, benchmark, "");
    expect(words(twice)).toBe(words(document));
  });
});

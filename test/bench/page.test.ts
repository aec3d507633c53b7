// What the bench prints, and that a part which fails costs no other part its figures.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { measure } from "../../scripts/bench/measure.ts";
import { describeCircumstances, pageOf, putInto } from "../../scripts/bench/page.ts";
import type { Chapter } from "../../scripts/bench/parts.ts";
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

const counted = (counts: readonly number[]): Chapter => ({
  parts: counts.map((count) => ({
    title: `${count} things`,
    run: async () => {
      if (count === 2) throw new Error("Waited 600 s for 2 things.\nmore of it");
      return { server: "sandbox", count };
    },
  })),
  toSection: (runs) => sectionOf("Things", [["Count", (run) => String(run.count)]], runs as readonly Run[]),
});

describe("a run of everything", () => {
  test("goes on after a part that failed, and says which one and why", async () => {
    const said: string[] = [];
    const measured = await measure([counted([1, 2, 3]), counted([2])], 1, (text) => said.push(text));
    expect(said.filter((line) => /^\d/.test(line))).toEqual([
      "1/4 1 things",
      "2/4 2 things",
      "3/4 3 things",
      "4/4 2 things",
    ]);
    expect(pageOf(circumstances, measured)).toBe(`${describeCircumstances(circumstances)}

- **2 things** failed: Waited 600 s for 2 things.
- **2 things** failed: Waited 600 s for 2 things.

### Things

API server: sandbox.

| Count |
|---|
| 1 |
| 3 |
`);
  });

  test("makes each part as often as it is told to, all in one table", async () => {
    const { sections } = await measure([counted([1])], 3, () => undefined);
    expect(sections.map(({ table }) => table.split("\n").slice(2))).toEqual([["| 1 |", "| 1 |", "| 1 |"]]);
  });
});

describe("docs/benchmarks.md", () => {
  const document = readFileSync(resolve(import.meta.dir, "../../docs/benchmarks.md"), "utf8");

  test("has a place for the figures, whose words around it stay", () => {
    const once = putInto(document, "FIGURES\n") ?? "";
    expect(once).toContain("\n\nFIGURES\n\n");
    const twice = putInto(once, "OTHERS") ?? "";
    expect(twice).not.toContain("FIGURES");
    const words = (text: string) => putInto(text, "");
    expect(words(twice)).toBe(words(document));
  });

  test("a page without the place is left alone", () => {
    expect(putInto("# Benchmarks\n", "FIGURES")).toBeUndefined();
  });
});

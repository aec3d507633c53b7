// Tests the tables and charts that compare Fairlead with a Go manager: medians, ratios, and their text.

import { describe, expect, test } from "bun:test";
import {
  type Contest,
  compare,
  comparisonChart,
  comparisonTable,
  type PeersRun,
  readmeTable,
} from "../../scripts/bench/comparison.ts";
import { stepNames } from "../../scripts/bench/steps.ts";

interface Given {
  readonly seconds: number;
  readonly events?: number;
  readonly hasSteps?: boolean;
  readonly mutating?: number;
}

function contest({ seconds, events = 1000, hasSteps = true, mutating = 200 }: Given): Contest {
  const cpu = { manager: seconds, server: 4, bench: 1 };
  const cost = { cpuSeconds: 9, peakMiB: 90 };
  const step = (name: string) => ({ name, done: seconds, seconds: seconds + 1, requests: 1234, mutating });
  const nodes = { server: "s", count: 1000, nodeBytes: 7000, middle: 1, last: seconds, lastEvent: 1 };
  return {
    nodes: { ...nodes, events, cloudCalls: 21, cost, cpu },
    steps: hasSteps
      ? Object.values(stepNames).map((name) => ({ ...step(name), reads: 0, writes: 0, cost, cpu }))
      : [],
  };
}

const run = (fairlead: Given, go: Given, nodes = 1000): PeersRun => ({
  server: "s",
  cloud: "hetzner",
  peer: "a manager",
  nodes,
  services: 200,
  fairlead: contest(fairlead),
  go: contest(go),
});

const rowOf = (runs: readonly PeersRun[], part: string, what: string) =>
  compare(runs).find((row) => row.part === part && row.what === what);

describe("a comparison", () => {
  test("contains both medians, and a ratio above 1 if Fairlead needs less", () => {
    const runs = [
      run({ seconds: 2 }, { seconds: 9 }),
      run({ seconds: 90 }, { seconds: 4 }),
      run({ seconds: 1 }, { seconds: 3 }),
    ];
    const nodes = "1,000 Nodes join";
    expect(rowOf(runs, nodes, "last taint gone")).toMatchObject({ fairlead: 2, go: 4, ratio: 2 });
    expect(rowOf(runs, nodes, "CPU, relative to the API server")).toMatchObject({ fairlead: 50, go: 100 });
    expect(rowOf(runs, "Restart", "last request")).toMatchObject({ fairlead: 3, go: 5 });
  });

  test("uses the mean of the two middle runs as the median of an even number", () => {
    const runs = [run({ seconds: 2 }, { seconds: 9 }), run({ seconds: 4 }, { seconds: 9 })];
    expect(rowOf(runs, "1,000 Nodes join", "last taint gone")).toMatchObject({ fairlead: 3 });
  });

  test("treats more events as better, and shows no ratio when a value is zero", () => {
    const runs = [run({ seconds: 1, mutating: 0 }, { seconds: 1, events: 500 })];
    expect(rowOf(runs, "1,000 Nodes join", "events written")?.ratio).toBe(2);
    const changes = rowOf(runs, "Restart", "of them changes");
    expect(changes).toMatchObject({ fairlead: 0, go: 200, ratio: undefined });
  });

  test("compares each number of Nodes, and Services if they were measured", () => {
    const without = { seconds: 1, hasSteps: false };
    const parts = (runs: readonly PeersRun[]) => [...new Set(compare(runs).map(({ part }) => part))];
    expect(parts([run({ seconds: 1 }, { seconds: 1 }), run(without, without, 5000)])).toEqual([
      "1,000 Nodes join",
      "5,000 Nodes join",
      "Services created",
      "One additional Node",
      "Restart",
      "Services deleted",
    ]);
    expect(parts([run(without, without, 5000)])).toEqual(["5,000 Nodes join"]);
  });
});

test("the table names each part above its rows, the unit if it is not obvious, and has a column for each cloud", () => {
  const rows = compare([run({ seconds: 2, mutating: 0 }, { seconds: 5 })]);
  const lines = comparisonTable([
    { title: "Hetzner", rows },
    { title: "AWS", rows: rows.slice(0, 1) },
  ]).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "| Fairlead · Go manager · ratio | Hetzner | AWS |",
    "|---|---|---|",
    "| **1,000 Nodes join** |  |  |",
    "| last taint gone, s | 2.00 · 5.00 · **2.50** | 2.00 · 5.00 · **2.50** |",
  ]);
  expect(lines).toContain("| cloud requests | 1,234 · 1,234 · **1.00** |  |");
  expect(lines).toContain("| of them changes | 0 · 200 · **–** |  |");
});

test("the README table has a column for each cloud, and an empty cell for each missing measurement", () => {
  const rows = compare([run({ seconds: 2 }, { seconds: 5 })]);
  const table = readmeTable([
    { title: "Hetzner", rows },
    { title: "AWS", rows: rows.slice(0, 2) },
  ]);
  expect(table).toContain("| Fairlead · Go manager | Hetzner | AWS |\n|---|---|---|\n");
  expect(table).toContain(
    "| 1,000 Nodes join: all written, including events, s | 2.00 · 5.00 | 2.00 · 5.00 |",
  );
  expect(table).toContain("| Services created: last address, s | 2.00 · 5.00 |  |");
  expect(table).not.toContain("of them changes");
});

test("the README table contains only rows for the largest number of Nodes", () => {
  const rows = compare([run({ seconds: 2 }, { seconds: 5 }), run({ seconds: 6 }, { seconds: 9 }, 5000)]);
  const table = readmeTable([{ title: "Hetzner", rows }]);
  expect(table).toContain("| 5,000 Nodes join: last taint gone, s |");
  expect(table).not.toContain("1,000 Nodes");
});

test("the chart has one bar per manager, and no bar for shares", () => {
  const rows = compare([run({ seconds: 2 }, { seconds: 5 })]);
  const chart = comparisonChart("Nodes", "note", rows, ({ part, what }) => `${part}: ${what}`);
  expect(chart.rows[0]).toMatchObject({ label: "1,000 Nodes join: last taint gone", unit: "s" });
  expect(chart.rows[0]?.bars.map(({ value }) => value)).toEqual([2, 5]);
  expect(chart.rows.every(({ unit }) => unit !== "%")).toBe(true);
});

test("a comparison shows no ratio for a step that the Go manager never ended", () => {
  const rows = compare([run({ seconds: 2 }, { seconds: Number.POSITIVE_INFINITY })]);
  expect(comparisonTable([{ title: "Hetzner", rows }])).toContain(
    "| all load balancers, s | 2.0 · never · **–** |",
  );
});

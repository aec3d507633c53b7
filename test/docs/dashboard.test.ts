// The Grafana dashboard: it is generated, its panels do not overlap, and it names only existing
// metrics and labels. promtool parses its expressions in test/tools/monitoring.tool.ts.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dashboard } from "../../scripts/docs/dashboard/dashboard.ts";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";

const root = join(import.meta.dir, "../..");
const text = readFileSync(join(root, "deploy/monitoring/dashboard.json"), "utf8");

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const panels = (JSON.parse(text) as { panels: readonly Panel[] }).panels;

test("the dashboard is up to date; npm run docs generates it", () => {
  expect(text).toBe(dashboard());
});

test("no two dashboard panels overlap, and each has a unique id, a title and a description", () => {
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(cells.filter((cell) => Number(cell.split(",")[0]) >= 24)).toEqual([]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  const silent = panels.filter(({ type, description = "" }) => type !== "row" && !/\.$/.test(description));
  expect(silent.map(({ title }) => title)).toEqual([]);
});

test("each legend of the dashboard uses labels that its expression keeps", () => {
  for (const { expr, legendFormat } of panels.flatMap(({ targets = [] }) => targets)) {
    const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", "));
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
    // Without an aggregation, all labels are kept.
    expect([expr, kept.length > 0 ? shown.filter((label) => !kept.includes(label)) : []]).toEqual([expr, []]);
  }
});

test("the dashboard groups only by labels that its metrics have", () => {
  const labelsOf = new Map(
    [...metricsPage().matchAll(/^\| `(\w+)` \| \w+ \| ([^|]*) \|/gm)].map(([, name = "", labels = ""]) => [
      name,
      [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label),
    ]),
  );
  const always = ["cluster", "job", "instance", "le"];
  for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) {
    const names = [...expr.matchAll(/\b(\w+?)(?:_bucket|_count)?\{/g)].map(([, name = ""]) => name);
    const known = [...always, ...names.flatMap((name) => labelsOf.get(name) ?? [])];
    const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
      list.split(", "),
    );
    expect([expr, grouped.filter((label) => !known.includes(label))]).toEqual([expr, []]);
  }
});

test("the dashboard names only metrics that exist, and shows every gauge of Fairlead", () => {
  const known = [...metricsPage().matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name = "", type]) => ({
    name,
    type,
  }));
  const used = [...text.matchAll(/\b([a-z]+(?:_[a-z]+)+)\{/g)].map(([, name = ""]) =>
    name.replace(/_(?:bucket|sum|count)$/, ""),
  );
  expect(used.length).toBeGreaterThan(30);
  expect(used.filter((name) => !known.some((metric) => metric.name === name))).toEqual([]);
  const elsewhere = [
    // Metrics that are useful only in alerts, with a limit.
    "fairlead_configuration_invalid",
    "fairlead_configuration_restart_pending",
    "fairlead_serving_certificate_expiration_timestamp_seconds",
    "fairlead_inventory_instances",
  ];
  const gauges = known.filter(({ name, type }) => type === "gauge" && name.startsWith("fairlead_"));
  const missing = gauges.filter(({ name }) => !used.includes(name) && !elsewhere.includes(name));
  expect(missing).toEqual([]);
});

test("the dashboard refers to runbooks that exist", () => {
  const named = [...text.matchAll(/Runbook: (\w+)\./g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((name) => !existsSync(join(root, `docs/runbooks/alerts/${name}.md`)))).toEqual([]);
});

import { expect, test } from "bun:test";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";
import { allReasons } from "../../scripts/docs/reasons/all.ts";
import { configz } from "../../src/app/endpoints/configz.ts";
import { flagFields } from "../../src/app/flags/flag-table.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { ManagerMetrics } from "../../src/app/metrics/manager-metrics.ts";
import { createHealthMetrics, createProcessMetrics } from "../../src/app/metrics/process-metrics.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { goDuration } from "../../src/core/duration.ts";
import type { Field } from "../../src/core/settings.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemFigures } from "../../src/platform/memory.ts";
import { type RecordedMetric, recordedNames } from "./upstream/recorded.ts";

// Each name in upstream/recorded.json is in a table of Fairlead, or is decided here.
// upstream-names.tool.ts compares the record with the pinned modules.

/** Flags with another default: the row of docs/differences.md, or why the effect is the same. */
const otherDefaults: Readonly<Record<string, string>> = {
  "concurrent-node-syncs": "D2",
  "concurrent-service-syncs": "D36",
  "kube-api-burst": "D34",
  "kube-api-qps": "D34",
  "node-status-update-frequency": "D12",
  "route-reconciliation-period": "D55",
  "tls-min-version": "Go's default is TLS 1.2, too",
  "webhook-tls-min-version": "Go's default is TLS 1.2, too",
};

/** Metrics with additional labels. */
const otherLabels: Readonly<Record<string, readonly string[]>> = {
  rest_client_requests_total: ["code", "method", "host", "resource"],
};

/** "" for Go's zero values, as in the record. */
function defaultOf({ fallback = "", kind }: Field<unknown>): string {
  if (fallback === false || fallback === "false" || Number(fallback) === 0) return "";
  const isDuration = typeof fallback === "number" && kind === "duration";
  return isDuration ? goDuration(milliseconds(fallback)) : String(fallback);
}

test("every flag of upstream exists, with upstream's default unless another is decided", () => {
  const fields: Readonly<Record<string, Field<unknown>>> = flagFields;
  const different = Object.entries(recordedNames.flags).flatMap(([name, value]) => {
    const field = fields[name];
    return field !== undefined && defaultOf(field) === value ? [] : [name];
  });
  expect(different).toEqual(Object.keys(otherDefaults));
});

test("every feature gate of upstream is known", () => {
  const gates = Object.keys(recordedNames.gates).map((name) => `${name}=true`);
  const { problems } = readFlags([`--feature-gates=${gates.join(",")}`]);
  expect(problems.filter(({ reason }) => reason === "UnknownFeatureGate")).toEqual([]);
});

test("every metric of upstream has upstream's type, labels, buckets and help, or is named on the page as missing", () => {
  const declared = new Map(
    [
      ...new ManagerMetrics(systemClock).declarations,
      ...createProcessMetrics(systemClock, systemFigures).declarations,
      ...createHealthMetrics().declarations,
    ].map((metric) => [metric.name, metric]),
  );
  const page = metricsPage();
  const sorted = (labels: readonly string[]): readonly string[] => labels.toSorted();
  for (const [name, { type, help, labels, buckets }] of Object.entries<RecordedMetric>(
    recordedNames.metrics,
  )) {
    const metric = declared.get(name);
    if (metric === undefined) {
      expect(page).toContain(`\`${name}\``);
      continue;
    }
    expect({ ...metric, labels: sorted(metric.labels) }).toMatchObject({
      name,
      type,
      help,
      labels: sorted(otherLabels[name] ?? labels),
      ...(buckets !== undefined && { buckets }),
    });
  }
});

/** The paths of the members; arrays and null are not entered. */
function pathsOf(value: unknown, prefix = ""): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [prefix.slice(1)];
  return Object.entries(value).flatMap(([key, member]) => pathsOf(member, `${prefix}.${key}`));
}

test("/configz has exactly the members of upstream's configuration", () => {
  const [shown] = Object.values(configz(readFlags([]).flags, "fake", undefined));
  const paths = pathsOf(shown).filter((path) => path !== "kind" && path !== "apiVersion");
  expect(paths.toSorted()).toEqual([...recordedNames.configz]);
});

test("every reason of upstream's events is documented as upstream's", () => {
  const ofUpstream = Object.entries(allReasons).flatMap(([name, { upstream }]) => (upstream ? [name] : []));
  const missing = recordedNames.events.filter((name) => !ofUpstream.includes(name));
  expect(missing).toEqual([]);
});

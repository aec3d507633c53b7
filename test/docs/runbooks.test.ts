// Every alert and every reason has a runbook page, and the alert rules use only metrics and labels that exist.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";
import { allReasons } from "../../scripts/docs/reasons/all.ts";
import { alertsIn, reasonPages, runbookIndex } from "../../scripts/docs/runbook-pages.ts";

const root = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const pagesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .map((name) => name.replace(/\.md$/, ""))
    .toSorted();

const alerts = alertsIn(read("deploy/monitoring/alerts.yaml"));
const names = alerts.map(({ alert }) => alert);

/** Name to labels, of the table rows of docs/metrics.md. */
const metrics = new Map(
  [...metricsPage().matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm)].map(
    ([, name = "", type, labels = ""]) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label) },
    ],
  ),
);
/** A histogram has no series of its own name. */
const histogramOf = (name: string): string => name.replace(/_(count|sum|bucket)$/, "");
/** Labels that Prometheus or its configuration adds. */
const ofTargets = ["cluster", "job", "instance"];

test("every alert has a page, and every page an alert", () => {
  expect(names.length).toBeGreaterThan(15);
  expect(pagesIn("docs/runbooks/alerts")).toEqual(names.toSorted());
});

describe.each(alerts)("the alert $alert", ({ alert, expr, for: duration, labels, annotations }) => {
  test("has a severity, a duration, and texts that say what is wrong", () => {
    expect(["critical", "warning", "info"]).toContain(labels["severity"] ?? "");
    expect(duration).toMatch(/^\d+[mhd]$/);
    expect(annotations["summary"]).toEndWith(".");
    expect(annotations["description"]).toEndWith(".");
    expect(annotations["runbook_url"]).toEndWith(`/docs/runbooks/alerts/${alert}`);
  });

  test("uses only metrics that exist", () => {
    const used = expr.match(/\b(?:fairlead|leader_election|workqueue|csi_plugin)_\w+/g) ?? [];
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((name) => !metrics.has(name) && !metrics.has(histogramOf(name)))).toEqual([]);
  });

  test("uses only labels of these metrics", () => {
    const known = [
      ...ofTargets,
      ...(expr.match(/\b[a-z_]{6,}\b/g) ?? []).flatMap(
        (name) => metrics.get(histogramOf(name))?.labels ?? [],
      ),
    ];
    const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
      list.split(", "),
    );
    const selected = [...expr.matchAll(/[{,]\s*(\w+)\s*(?:=~|!=|=)/g)].map(([, label = ""]) => label);
    const shown = Object.values(annotations).flatMap((text) =>
      [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label),
    );
    expect([...grouped, ...selected, ...shown].filter((label) => !known.includes(label))).toEqual([]);
  });

  test("has a page with what it means, its impact, how to find the cause, and what to do", () => {
    const page = read(`docs/runbooks/alerts/${alert}.md`);
    expect(page.match(/^#+ .*$/gm)).toEqual([
      `# ${alert}`,
      "## Impact",
      "## Find the cause",
      "## What to do",
    ]);
  });
});

test("every reason of an event or condition has a page", () => {
  const missing = Object.keys(allReasons).filter((reason) => reasonPages()[reason] === undefined);
  expect(missing).toEqual([]);
  expect(pagesIn("docs/runbooks/reasons")).toEqual(Object.keys(reasonPages()).toSorted());
});

test("a reason of one provider has a page with its meaning and the commands of its executable", () => {
  const page = reasonPages()["LoadBalancerProtected"] ?? "";
  expect(page).toContain("Reported by the provider of [Hetzner](../../clouds/hetzner.md)");
  expect(page).toContain("Delete it in the console if it is not needed.");
  expect(page).toContain("hetzner-cloud-controller-manager explain service NAMESPACE/NAME");
  expect(Object.values(reasonPages()).join("")).not.toContain("fake-cloud-controller-manager");
});

test("a page names the metric that counts its reason, and none for what no metric counts", () => {
  const metricsIn = (name: string) => reasonPages()[name]?.match(/fairlead_\w+(?=\{)/g) ?? [];
  expect(metricsIn("TargetsUnreachable")).toEqual(["fairlead_problems"]);
  expect(metricsIn("MassDeletionHeld")).toEqual(["fairlead_node_deletions_held"]);
  for (const name of ["Synced", "DeletingNodeFailed", "AddressChanged", "LeaderElection", "SidecarsUnknown"])
    expect([name, metricsIn(name)]).toEqual([name, []]);
  expect(reasonPages()["VolumeFailedDelete"]).toContain("counts the claims, PersistentVolumes and VolumeAtt");
});

test("the pages of the reasons and the index of the runbooks are up to date; npm run docs generates them", () => {
  for (const [name, page] of Object.entries(reasonPages()))
    expect(read(`docs/runbooks/reasons/${name}.md`)).toBe(page);
  expect(read("docs/runbooks/README.md")).toBe(runbookIndex(alerts));
});

// Every alert and every reason has a runbook page, and the alert rules use only metrics and labels that exist.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventsPage } from "../../scripts/docs/events-page.ts";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";
import { reasonPages } from "../../scripts/docs/reason-pages.ts";
import { allReasons } from "../../scripts/docs/reasons/all.ts";
import { alertsIn, runbookIndex } from "../../scripts/docs/runbook-pages.ts";

const root = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const pagesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .map((name) => name.replace(/\.md$/, ""))
    .toSorted();

const alerts = alertsIn(read("deploy/monitoring/alerts.yaml"));
const names = alerts.map(({ alert }) => alert);

/** Labels by name, from the table rows of docs/metrics.md. */
const metrics = new Map(
  [...metricsPage().matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm)].map(
    ([, name = "", type, labels = ""]) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label) },
    ],
  ),
);
/** A histogram has no series with its own name. */
const histogramOf = (name: string): string => name.replace(/_(count|sum|bucket)$/, "");
/** Labels that Prometheus or its configuration adds. */
const ofTargets = ["cluster", "job", "instance"];

test("every alert has a page, and every page an alert", () => {
  expect(names.length).toBeGreaterThan(15);
  expect(pagesIn("docs/runbooks/alerts")).toEqual(names.toSorted());
});

describe.each(alerts)("the alert $alert", ({ alert, expr, for: duration, labels, annotations }) => {
  test("an alert has a severity, a duration, and texts that state the problem", () => {
    expect(["critical", "warning", "info"]).toContain(labels["severity"] ?? "");
    expect(duration).toMatch(/^\d+[mhd]$/);
    expect(annotations["summary"]).toEndWith(".");
    expect(annotations["description"]).toEndWith(".");
    expect(annotations["runbook_url"]).toEndWith(`/docs/runbooks/alerts/${alert}`);
  });

  test("an alert uses only existing metrics", () => {
    const used = expr.match(/\b(?:fairlead|leader_election|workqueue|csi_plugin)_\w+/g) ?? [];
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((name) => !metrics.has(name) && !metrics.has(histogramOf(name)))).toEqual([]);
  });

  test("an alert uses only labels of its metrics", () => {
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

  test("an alert has a page with its meaning, its impact, how to find the cause, and the remedy", () => {
    const page = read(`docs/runbooks/alerts/${alert}.md`);
    expect(page.match(/^#+ .*$/gm)).toEqual([`# ${alert}`, "## Find the cause", "## What to do"]);
    expect(page).toContain("\n\n**Impact:** ");
  });
});

const pages = reasonPages();
const runbookOf = (page: string, reason: string): string =>
  pages[page]?.split(/^##+ /m).find((part) => part.startsWith(`${reason}\n`)) ?? "";

test("every reason of an event or condition has a heading on at least one page, and docs/events.md links to it", () => {
  const headings = Object.entries(pages).flatMap(([name, page]) =>
    [...page.matchAll(/^### (\w+)$/gm)].map(
      ([, reason = ""]) => `runbooks/${name}.md#${reason.toLowerCase()}`,
    ),
  );
  expect(new Set(headings).size).toBe(headings.length);
  const links = [...eventsPage().matchAll(/^\| \[`(\w+)`\]\(([^)]+)\)/gm)];
  expect(links.map(([, , link = ""]) => link).toSorted()).toEqual(headings.toSorted());
  const linked = new Set(links.map(([, reason = ""]) => reason));
  expect(Object.keys(allReasons).filter((reason) => !linked.has(reason))).toEqual([]);
});

test("the runbook of a provider-specific reason contains its meaning, and the fake cloud has no such runbook", () => {
  const runbook = runbookOf("clouds", "LoadBalancerProtected");
  expect(runbook).toContain("Warning: On [Hetzner](../clouds/hetzner.md): ");
  expect(runbook).toContain("Delete it in the console if it is not needed.");
  expect(Object.values(pages).join("")).not.toContain("fake-cloud-controller-manager");
});

test("a runbook names the metric that counts its reason if such a metric exists", () => {
  const metricsIn = (page: string, reason: string) =>
    runbookOf(page, reason).match(/fairlead_\w+(?=\{)/g) ?? [];
  expect(metricsIn("services", "TargetsUnreachable")).toEqual(["fairlead_problems"]);
  expect(metricsIn("nodes", "MassDeletionHeld")).toEqual(["fairlead_node_deletions_held"]);
  for (const [page, name] of [
    ["nodes", "Synced"],
    ["nodes", "DeletingNodeFailed"],
    ["services", "AddressChanged"],
    ["manager", "LeaderElection"],
    ["volumes", "SidecarsUnknown"],
  ] as const)
    expect([name, runbookOf(page, name) === "", metricsIn(page, name)]).toEqual([name, false, []]);
  expect(pages["volumes"]).toContain(
    "The metric of an entry counts the claims, PersistentVolumes and VolumeAttachments with that reason.",
  );
});

test("the runbooks of the reasons and their index are up to date; npm run docs generates them", () => {
  for (const [name, page] of Object.entries(pages)) expect(read(`docs/runbooks/${name}.md`)).toBe(page);
  expect(pagesIn("docs/runbooks").toSorted()).toEqual(["README", "alerts", ...Object.keys(pages)].toSorted());
  expect(read("docs/runbooks/README.md")).toBe(runbookIndex(alerts));
});

// `npm run docs`: generates docs/clouds/*-reference.md, docs/conformance-results.md, events.md, features.md, flags.md, metrics.md and
// provider-reference.md, the tables in comparison.md, kubernetes-install.md, smoke.md and support.md, docs/runbooks without the pages of
// the alerts, and the dashboard.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "./command-line.ts";
import { cloudPage } from "./docs/cloud-page.ts";
import { withScenarios } from "./docs/comparison-page.ts";
import { dashboard } from "./docs/dashboard/dashboard.ts";
import { documentedClouds } from "./docs/documented-clouds.ts";
import { eventsPage } from "./docs/events-page.ts";
import type { Proofs } from "./docs/features.ts";
import { featuresPage } from "./docs/features.ts";
import { flagsPage } from "./docs/flags-page.ts";
import { withValuesTable } from "./docs/manifest-values.ts";
import { metricsPage } from "./docs/metrics-page.ts";
import { reasonPages } from "./docs/reason-pages.ts";
import { type Recorded, sortedProofs, validProofs } from "./docs/recorded-proofs.ts";
import { referencePage } from "./docs/reference-page.ts";
import { resultsPage } from "./docs/results-page.ts";
import { proofsIn, runCluster, runExecutable, runPlain, runTools } from "./docs/run-suites.ts";
import { alertsIn, runbookIndex } from "./docs/runbook-pages.ts";
import { readReports, withReports } from "./docs/smoke-page.ts";
import { withVersions } from "./docs/tested-versions.ts";

const flag = { type: "boolean", default: false } as const;
const { values } = commandLine(
  `Usage: npm run docs -- [options]
  generates docs/clouds/*-reference.md, docs/conformance-results.md, events.md, flags.md, metrics.md, provider-reference.md and docs/runbooks
  --check         write nothing; exit with 1 if a page is stale
  --features      also docs/features.md, which needs the results of all tests: runs them
  --executable    also run the tests that need the executable
  --cluster       also run the tests that need a control plane (KUBEBUILDER_ASSETS)
  --tools         also run the tests with tools of users, such as helm
  --all           --executable, --cluster and --tools
  --junit <file>  --features with this JUnit report, instead of running the tests
`,
  {
    check: flag,
    features: flag,
    executable: flag,
    cluster: flag,
    tools: flag,
    all: flag,
    junit: { type: "string" },
  },
);
const root = new URL("..", import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const recordFile = "scripts/docs/recorded-proofs.json";

const isRequested = (suite: keyof Recorded): boolean => values.all || values[suite];
const sourceOf = (file: string): string | undefined =>
  existsSync(join(root, file)) ? read(file) : undefined;

function recordedProofs(): Recorded {
  const before = JSON.parse(read(recordFile)) as Recorded;
  const reports = {
    executable: isRequested("executable") ? runExecutable() : undefined,
    cluster: isRequested("cluster") ? runCluster() : undefined,
    tools: isRequested("tools") ? runTools() : undefined,
  };
  if (isRequested("cluster") && reports.cluster === undefined)
    print("KUBEBUILDER_ASSETS is not set: the recorded results of the cluster tests are kept");
  const proofsFor = (suite: keyof Recorded): Proofs => {
    const report = reports[suite];
    return sortedProofs(report === undefined ? validProofs(before[suite], sourceOf) : proofsIn(report));
  };
  return {
    executable: proofsFor("executable"),
    cluster: proofsFor("cluster"),
    tools: proofsFor("tools"),
  };
}

/** The pages that depend on the results of tests. */
function provedPages(): Readonly<Record<string, string>> {
  const plain = proofsIn(junit === undefined ? runPlain() : readFileSync(junit, "utf8"));
  const recorded = recordedProofs();
  return {
    [recordFile]: `${JSON.stringify(recorded, undefined, 2)}\n`,
    "docs/features.md": featuresPage({ plain, ...recorded }),
  };
}

const { check, junit, ...suites } = values;
const needsTests = junit !== undefined || Object.values(suites).includes(true);

const pages = {
  ...(needsTests ? provedPages() : {}),
  ...Object.fromEntries(
    documentedClouds.map(({ title, folder, provider }) => [
      `docs/clouds/${folder}-reference.md`,
      cloudPage(title, folder, provider),
    ]),
  ),
  "docs/comparison.md": withScenarios(read("docs/comparison.md")),
  "docs/conformance-results.md": resultsPage(),
  "docs/events.md": eventsPage(),
  "docs/flags.md": flagsPage(),
  "docs/kubernetes-install.md": withValuesTable(read("docs/kubernetes-install.md")),
  "docs/metrics.md": metricsPage(),
  "docs/provider-reference.md": referencePage(),
  "docs/smoke.md": withReports(read("docs/smoke.md"), readReports(join(root, "docs/reports"))),
  "docs/support.md": withVersions(read("docs/support.md")),
  "deploy/monitoring/dashboard.json": dashboard(),
  "docs/runbooks/README.md": runbookIndex(alertsIn(read("deploy/monitoring/alerts.yaml"))),
  ...Object.fromEntries(
    Object.entries(reasonPages()).map(([name, page]) => [`docs/runbooks/${name}.md`, page]),
  ),
};
let stale = 0;
for (const [name, content] of Object.entries(pages)) {
  const path = join(root, name);
  const present = existsSync(path) ? readFileSync(path, "utf8") : "";
  if (present === content) continue;
  if (check) {
    stale += 1;
    print(`${name} is stale; run: npm run docs`);
  } else {
    writeFileSync(path, content);
    print(`${name} written`);
  }
}
process.exit(stale === 0 ? 0 : 1);

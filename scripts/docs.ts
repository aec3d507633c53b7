// Makes the pages that are made from code and tests. With --check it writes nothing and fails when one is stale; with
// --junit FILE it reads the results of a run that has been, otherwise it runs the tests.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { featuresPage, readJUnit } from "./docs/features.ts";
import { flagsPage } from "./docs/flags-page.ts";
import { metricsPage } from "./docs/metrics-page.ts";

const args = process.argv.slice(2);
const root = new URL("..", import.meta.url).pathname;

const runTests = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-docs-"));
  const file = join(folder, "junit.xml");
  try {
    // The environment of cluster tests is left out: the page says what a plain clone proves.
    const { FAIRLEAD_CLUSTER_KUBECONFIG: _, KUBEBUILDER_ASSETS: __, ...env } = process.env;
    Bun.spawnSync([process.execPath, "test", "--reporter=junit", `--reporter-outfile=${file}`], {
      cwd: root,
      env,
    });
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const given = args.indexOf("--junit");
const xml = given === -1 ? runTests() : readFileSync(args[given + 1] ?? "", "utf8");

const pages = {
  "docs/features.md": featuresPage(readJUnit(xml)),
  "docs/flags.md": flagsPage(),
  "docs/metrics.md": metricsPage(),
};
let stale = 0;
for (const [name, content] of Object.entries(pages)) {
  const path = join(root, name);
  const present = existsSync(path) ? readFileSync(path, "utf8") : "";
  if (present === content) continue;
  if (args.includes("--check")) {
    stale += 1;
    process.stdout.write(`${name} is stale; run: npm run docs\n`);
  } else {
    writeFileSync(path, content);
    process.stdout.write(`${name} written\n`);
  }
}
process.exit(stale === 0 ? 0 : 1);

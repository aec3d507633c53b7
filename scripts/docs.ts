// Makes the pages that are made from code and tests. With --check it writes nothing and fails when one is stale; with --all
// it also runs the tests that need the executable and a control plane (--executable and --cluster: one of the two). --junit
// FILE is the report of an `npm test` that was.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventsPage } from "./docs/events-page.ts";
import { featuresPage } from "./docs/features.ts";
import { flagsPage } from "./docs/flags-page.ts";
import { metricsPage } from "./docs/metrics-page.ts";
import { type Recorded, stillThere, worthRecording } from "./docs/recorded-proofs.ts";
import { passedIn, runCluster, runExecutable, runPlain } from "./docs/run-suites.ts";
import { stopUnlessKnown } from "./known-options.ts";

const args = process.argv.slice(2);
stopUnlessKnown(args, {
  usage: `Usage: npm run docs -- [options]
  writes docs/events.md, features.md, flags.md and metrics.md as code and tests have them
  --check         write nothing, and fail when one is stale
  --executable    also run the tests that need the executable
  --cluster       also run those that need a control plane (KUBEBUILDER_ASSETS)
  --all           both
  --junit <file>  the report of a run of the tests, instead of another run
`,
  options: ["--check", "--executable", "--cluster", "--all"],
  valued: ["--junit"],
});
const root = new URL("..", import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const recordFile = "scripts/docs/recorded-proofs.json";
const sources = [...new Bun.Glob("test/**/*.ts").scanSync({ cwd: root })].map(read);

/** `--executable`, `--cluster`, or `--all` for both. */
const isAsked = (suite: keyof Recorded): boolean => args.includes("--all") || args.includes(`--${suite}`);

function recorded(): Recorded {
  const before = JSON.parse(read(recordFile)) as Recorded;
  const reports = {
    executable: isAsked("executable") ? runExecutable() : undefined,
    cluster: isAsked("cluster") ? runCluster() : undefined,
  };
  if (isAsked("cluster") && reports.cluster === undefined)
    say("KUBEBUILDER_ASSETS is not set: what the cluster tests proved the last time still counts");
  const proofsOf = (suite: keyof Recorded): readonly string[] => {
    const report = reports[suite];
    return report === undefined ? stillThere(before[suite], sources) : worthRecording(passedIn(report));
  };
  return { executable: proofsOf("executable"), cluster: proofsOf("cluster") };
}

const given = args.indexOf("--junit");
const plain = passedIn(given === -1 ? runPlain() : readFileSync(args[given + 1] ?? "", "utf8"));
const proofs = recorded();

const pages = {
  [recordFile]: `${JSON.stringify(proofs, undefined, 2)}\n`,
  "docs/events.md": eventsPage(),
  "docs/features.md": featuresPage({ plain, ...proofs }),
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
    say(`${name} is stale; run: npm run docs`);
  } else {
    writeFileSync(path, content);
    say(`${name} written`);
  }
}
process.exit(stale === 0 ? 0 : 1);

// `npm run test:all`: the tests of `npm test` with every fault position and more seeds, and the
// long test files. With --nightly, also tests that take long and rarely fail: the cluster tests
// with hundreds of faults, on other minor versions, and without streaming lists.

import { resolve } from "node:path";
import { missingAssets } from "../test/cluster/rig/assets.ts";
import { printHelp } from "./command-line.ts";

const root = resolve(import.meta.dir, "..");

const usage = `Usage: npm run test:all -- [--nightly] [bun test options]

Runs the tests of npm test with every fault position and more seeds, and the files *.long.test.ts.

--nightly   then also the cluster tests with many more faults, all of them on the other minor versions and once without streaming lists, the
            chart on each of them, the commands of ci.yml in a clone, more histories of replicas, a longer exploration of the status page, the publishing of a release, the comparison with upstream, and the real services of OpenStack. It takes more than an hour, and needs what test:cluster and test:differential need:
KUBEBUILDER_ASSETS          folder with etcd, kube-apiserver, kube-controller-manager and kubectl
KUBEBUILDER_ASSETS_OTHERS   folders with those of other minor versions, separated by colons
`;

const words = process.argv.slice(2);
printHelp(usage, words);
const isNightly = words.includes("--nightly");
const options = words.filter((word) => word !== "--nightly");

type Env = Readonly<Record<string, string>>;
const breadth: Env = { FAIRLEAD_TESTS: isNightly ? "nightly" : "all" };

const others = (process.env["KUBEBUILDER_ASSETS_OTHERS"] ?? "").split(":").filter((folder) => folder !== "");

const nightly: readonly (readonly [name: string, args: readonly string[], env: Env])[] = [
  ["cluster tests", ["scripts/cluster-tests.ts", "--nightly"], {}],
  ...others.flatMap((folder) => [
    [`cluster tests, ${folder}`, ["scripts/cluster-tests.ts"], { KUBEBUILDER_ASSETS: folder }] as const,
    [`chart, ${folder}`, ["scripts/tool-tests.ts", "chart-cluster"], { KUBEBUILDER_ASSETS: folder }] as const,
  ]),
  [
    "cluster tests without streaming lists",
    ["scripts/cluster-tests.ts"],
    { FAIRLEAD_API_SERVER_FLAGS: "--feature-gates=WatchList=false" },
  ],
  ["commands of ci.yml", ["scripts/tool-tests.ts", "ci-commands"], {}],
  ["histories, and the status page", ["scripts/tool-tests.ts", "linearizability", "status-explored"], {}],
  ["publishing", ["scripts/tool-tests.ts", "publish"], {}],
  ["comparison with upstream", ["scripts/differential-tests.ts"], {}],
  ["clients", ["scripts/client-tests.ts", "--nightly"], {}],
];

function run(args: readonly string[], env: Env): boolean {
  const child = Bun.spawnSync([process.execPath, ...args], {
    cwd: root,
    env: { ...process.env, ...breadth, ...env },
    stdio: ["inherit", "inherit", "inherit"],
  });
  return child.exitCode === 0;
}

if (isNightly) {
  const missing =
    missingAssets(["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]) ??
    (Bun.which("go") === null ? "go is not installed" : undefined);
  if (missing !== undefined) {
    process.stderr.write(`The nightly tests cannot run: ${missing}.\n`);
    process.exit(2);
  }
}

const failed = run(["scripts/launch.mjs", "test", ...options], {}) ? [] : ["tests"];
if (isNightly) {
  for (const [name, args, env] of nightly) {
    process.stdout.write(`=== ${name}\n`);
    if (!run(args, env)) failed.push(name);
  }
  process.stdout.write(failed.length === 0 ? "=== all passed\n" : `=== failed: ${failed.join(", ")}\n`);
}
process.exit(failed.length === 0 ? 0 : 1);

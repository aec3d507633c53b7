// `npm run test:all`: the tests of `npm test` with every fault position and more seeds. With --nightly also what takes long and finds little:
// the cluster tests with hundreds of faults, and their core against an API server of another kind.

import { resolve } from "node:path";
import { missingAssets } from "../test/cluster/rig/assets.ts";
import { printHelp } from "./command-line.ts";

const root = resolve(import.meta.dir, "..");

/** The newest one without streaming lists. */
const olderMinor = "1.33";

const usage = `Usage: npm run test:all -- [--nightly] [bun test options]

Runs the tests of npm test with every fault position and more seeds.

--nightly   then also the cluster tests with many more faults, their core against an older API server or one without streaming lists, the
            comparison with upstream, and the real services of OpenStack. It takes more than an hour, and needs what test:cluster and test:differential need:
KUBEBUILDER_ASSETS         folder with etcd, kube-apiserver, kube-controller-manager and kubectl
KUBEBUILDER_ASSETS_OLDER   folder with those of an older minor version. Without it, the API server emulates ${olderMinor}, without
                           streaming lists.
`;

const words = process.argv.slice(2);
printHelp(usage, words);
const isNightly = words.includes("--nightly");
const options = words.filter((word) => word !== "--nightly");

type Env = Readonly<Record<string, string>>;
const breadth: Env = { FAIRLEAD_TESTS: isNightly ? "nightly" : "all" };

/** Without the cases of the test API server, which is like the newest one. */
const core = ["nodes", "services.", "routes", "leadership", "real"];

function otherServer(): Env {
  const older = process.env["KUBEBUILDER_ASSETS_OLDER"] ?? "";
  return older === ""
    ? { FAIRLEAD_API_SERVER_FLAGS: `--emulated-version=kube=${olderMinor}` }
    : { KUBEBUILDER_ASSETS: older };
}

const nightly: readonly (readonly [name: string, args: readonly string[], env: Env])[] = [
  ["cluster tests", ["scripts/cluster-tests.ts", "--nightly"], {}],
  [
    "core of the cluster tests, with another API server",
    ["scripts/cluster-tests.ts", ...core],
    otherServer(),
  ],
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

// `npm run test:cluster`: builds the executables that the chosen tests need, starts control planes from $KUBEBUILDER_ASSETS and runs the cluster tests
// against them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { missingAssets } from "../test/cluster/rig/assets.ts";
import { startControlPlane } from "../test/cluster/rig/control-plane.ts";
import { keepFolder } from "../test/cluster/rig/kept-process.ts";
import { sharedPlanesVariable } from "../test/cluster/rig/shared-plane.ts";

const root = resolve(import.meta.dir, "..");

const usage = `Usage: npm run test:cluster -- [part of a file name]... [bun test options]

Runs test/cluster against control planes, for example: npm run test:cluster -- nodes routes -t "shutdown taint"
KUBEBUILDER_ASSETS must be a folder with etcd, kube-apiserver and kubectl. To download them:
"setup-envtest use -p path" (sigs.k8s.io/controller-runtime/tools/setup-envtest).

--nightly                   also the files of test/cluster/nightly, and many more faults
FAIRLEAD_API_SERVER_FLAGS   additional flags of every API server
`;

const words = process.argv.slice(2);
if (words.includes("--help") || words.includes("-h")) {
  process.stdout.write(usage);
  process.exit(0);
}
const missing = missingAssets(["etcd", "kube-apiserver", "kubectl"]);
if (missing !== undefined) {
  process.stderr.write(`The cluster tests cannot run: ${missing}.\n`);
  process.exit(2);
}
keepLoopbackDirect();

const nightlyAt = words.indexOf("--nightly");
const isNightly = nightlyAt !== -1;
if (isNightly) words.splice(nightlyAt, 1);
const flagsAt = words.findIndex((word) => word.startsWith("-"));
const parts = flagsAt === -1 ? words : words.slice(0, flagsAt);
const flags = flagsAt === -1 ? [] : words.slice(flagsAt);
/** These also run in `npm test`, there against the test API server only. */
const twins = ["test/kube/cluster/real.test.ts", "test/testing/apiserver/twin.test.ts"];
const pattern = isNightly ? "test/cluster/**/*.cluster.ts" : "test/cluster/*.cluster.ts";
const all = [...new Bun.Glob(pattern).scanSync({ cwd: root }), ...twins].toSorted();
const files = all.filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
if (files.length === 0) {
  process.stderr.write(
    `No cluster test file has ${parts.join(" or ")} in its name. There are:\n${all.map((path) => `  ${path}\n`).join("")}`,
  );
  process.exit(2);
}

const bun = process.execPath;
/** The variable with the path of each cloud's executable. */
const variables = {
  fake: "FAIRLEAD_TEST_EXECUTABLE",
  hetzner: "FAIRLEAD_TEST_HETZNER_EXECUTABLE",
  rancher: "FAIRLEAD_TEST_RANCHER_EXECUTABLE",
} as const;
type Cloud = keyof typeof variables;
const clouds = Object.keys(variables) as readonly Cloud[];

/** A file with the name of a cloud needs its executable, any other cluster test that of the fake cloud, and a twin none. */
function cloudOf(path: string): Cloud | undefined {
  const name = basename(path, ".cluster.ts");
  if (twins.includes(path)) return undefined;
  return clouds.find((cloud) => cloud === name) ?? "fake";
}

const folder = mkdtempSync(join(tmpdir(), "fairlead-cluster-tests-"));
keepFolder(folder);
const needed = clouds.filter((cloud) => files.some((path) => cloudOf(path) === cloud));
for (const cloud of needed) {
  // Not into dist, because another build may replace it while the tests run.
  const built = Bun.spawnSync([bun, "scripts/build.ts", cloud, "--outdir", folder], {
    cwd: root,
    stdout: "inherit",
    stderr: "inherit",
  });
  if (built.exitCode !== 0) process.exit(1);
}

/** Most of the time is spent waiting. */
const processCount = Math.min(2, files.length);
const started = await Promise.allSettled(Array.from({ length: processCount }, () => startControlPlane()));
const planes = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
let code = 1;
try {
  for (const each of started) if (each.status === "rejected") throw each.reason;
  // More control planes at once delay each other.
  const options = [`--parallel=${processCount}`, "--max-concurrency=3", "--timeout=900000", ...flags];
  const runner = Bun.spawn([bun, "test", ...options, ...files.map((path) => `./${path}`)], {
    cwd: root,
    env: {
      ...process.env,
      ...(isNightly && { FAIRLEAD_TESTS: "nightly" }),
      [sharedPlanesVariable]: planes.map(({ kubeconfig }) => kubeconfig).join(":"),
      ...Object.fromEntries(
        needed.map((cloud) => [variables[cloud], join(folder, `${cloud}-cloud-controller-manager`)]),
      ),
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => runner.kill(name));
  code = await runner.exited;
} finally {
  await Promise.all(planes.map((plane) => plane.stop()));
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);

// `npm run test:cluster`: builds the executables that the chosen tests need, starts control planes from $KUBEBUILDER_ASSETS and runs the cluster tests
// against them.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { kubernetesTests } from "../test/cluster/kubernetes-e2e/build.ts";
import { apiServerVersion, minorVariable, missingAssets } from "../test/cluster/rig/assets.ts";
import { startControlPlane } from "../test/cluster/rig/control-plane.ts";
import { keepFolder } from "../test/cluster/rig/kept-process.ts";
import { sharedPlanesVariable } from "../test/cluster/rig/shared-plane.ts";
import { fail, printHelp } from "./command-line.ts";
import { readJUnit } from "./docs/features.ts";
import { recordVersion } from "./docs/tested-versions.ts";
import { previousExecutable, previousVariable } from "./previous-release.ts";
import { buildInto, chooseTests, filesLike, runTests, withPlanes } from "./test-runs.ts";

const usage = `Usage: npm run test:cluster -- [part of a file name]... [bun test options]

Runs test/cluster against control planes, for example: npm run test:cluster -- nodes routes -t "shutdown taint"
KUBEBUILDER_ASSETS must be a folder with etcd, kube-apiserver and kubectl. To download them:
"setup-envtest use -p path" (sigs.k8s.io/controller-runtime/tools/setup-envtest).

--smoke                     only the core: Nodes, Services, routes, leadership, and the client
--nightly                   also the files of test/cluster/nightly, and many more faults
--record                    when all pass, write the version and the number into the file that docs/support.md is generated from
FAIRLEAD_API_SERVER_FLAGS   additional flags of every API server
`;

const words = process.argv.slice(2);
printHelp(usage, words);
const missing = missingAssets(["etcd", "kube-apiserver", "kubectl"]);
if (missing !== undefined) fail(`The cluster tests cannot run: ${missing}.`);
keepLoopbackDirect();

/** Removes the switch from the words. Returns whether it was among them. */
function takeSwitch(name: string): boolean {
  const at = words.indexOf(name);
  if (at !== -1) words.splice(at, 1);
  return at !== -1;
}

const isNightly = takeSwitch("--nightly");
const isSmoke = takeSwitch("--smoke");
const isRecorded = takeSwitch("--record");
const server = apiServerVersion();
const extraFlags = process.env["FAIRLEAD_API_SERVER_FLAGS"] ?? "";
if (isRecorded && words.length > 0)
  fail("--record records whole runs, so it takes no part of a file name and no option.");
if (isSmoke) words.unshift("nodes.", "services.", "routes.", "leadership.", "real.", "twin.");
/** Tests that also run in `npm test`, but there only against the test API server. */
const twins = ["test/kube/cluster/real.test.ts", "test/testing/apiserver/twin.test.ts"];
const pattern = isNightly ? "test/cluster/**/*.cluster.ts" : "test/cluster/*.cluster.ts";
const { files, flags } = chooseTests("cluster", words, [...filesLike(pattern), ...twins].toSorted());

/** The variable with the path of each cloud's executable. */
const variables = {
  fake: "FAIRLEAD_TEST_EXECUTABLE",
  hetzner: "FAIRLEAD_TEST_HETZNER_EXECUTABLE",
  rancher: "FAIRLEAD_TEST_RANCHER_EXECUTABLE",
} as const;
type Cloud = keyof typeof variables;
const clouds = Object.keys(variables) as readonly Cloud[];

/**
 * A file with the name of a cloud needs the executable of that cloud, any other cluster test that of the fake cloud, and a
 * twin none.
 */
function cloudOf(path: string): Cloud | undefined {
  const name = basename(path, ".cluster.ts");
  if (twins.includes(path)) return undefined;
  return clouds.find((cloud) => cloud === name) ?? "fake";
}

const needed = clouds.filter((cloud) => files.some((path) => cloudOf(path) === cloud));

/** Most of the time is spent waiting. */
const processCount = Math.min(2, files.length);
const folder = mkdtempSync(join(tmpdir(), "fairlead-cluster-tests-"));
keepFolder(folder);
let code = 1;
try {
  const executables = Object.fromEntries(needed.map((cloud) => [variables[cloud], buildInto(folder, cloud)]));
  const previous = files.some((path) => path.endsWith("/upgrade.cluster.ts"))
    ? previousExecutable("fake")
    : undefined;
  // Here, the build does not delay other tests.
  if (files.some((path) => path.endsWith("/load-balancer-finalizer.cluster.ts"))) kubernetesTests();
  if (previous !== undefined) executables[previousVariable] = previous;
  // More control planes at once delay each other.
  const report = join(folder, "junit.xml");
  const reporting = isRecorded ? ["--reporter=junit", `--reporter-outfile=${report}`] : [];
  const options = [
    ...[`--parallel=${processCount}`, "--max-concurrency=3", "--timeout=900000"],
    ...reporting,
    ...flags,
  ];
  code = await withPlanes(
    processCount,
    () => startControlPlane(),
    (planes) =>
      runTests(options, files, {
        ...(isNightly && { FAIRLEAD_TESTS: "nightly" }),
        [minorVariable]: server.split(".")[1] ?? "",
        [sharedPlanesVariable]: planes.map(({ kubeconfig }) => kubeconfig).join(":"),
        ...executables,
      }),
  );
  if (isRecorded && code === 0) {
    const results = readJUnit(readFileSync(report, "utf8"));
    const passed = results.filter((each) => each.passed).length;
    const skipped = results.length - passed;
    recordVersion({ server, flags: extraFlags, suite: isSmoke ? "smoke" : "whole", passed, skipped });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);

// `npm run test:cluster`: starts a control plane from $KUBEBUILDER_ASSETS, builds the executable, runs the cluster tests
// against both, and ends everything. Arguments choose files by a part of their name; flags go to the test runner.

import { copyFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { startControlPlane } from "../test/cluster/rig/control-plane.ts";

const root = resolve(import.meta.dir, "..");

if ((process.env["KUBEBUILDER_ASSETS"] ?? "") === "") {
  process.stderr.write(
    [
      "The cluster tests need etcd, kube-apiserver and kubectl: set KUBEBUILDER_ASSETS to the folder that holds them.",
      "`setup-envtest use -p path` (sigs.k8s.io/controller-runtime/tools/setup-envtest) downloads one.",
      "",
    ].join("\n"),
  );
  process.exit(2);
}
keepLoopbackDirect();

const words = process.argv.slice(2);
const flagsAt = words.findIndex((word) => word.startsWith("-"));
const parts = flagsAt === -1 ? words : words.slice(0, flagsAt);
const flags = flagsAt === -1 ? [] : words.slice(flagsAt);
/** Those of `test/kube` and `test/sandbox` run against the sandbox too, and here against the real server beside it. */
const twins = ["test/kube/cluster/real.test.ts", "test/testing/apiserver/twin.test.ts"];
const files = [...new Bun.Glob("test/cluster/*.cluster.ts").scanSync({ cwd: root }), ...twins]
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
  .toSorted();
if (files.length === 0) {
  process.stderr.write(`No cluster test has ${parts.join(" or ")} in its name.\n`);
  process.exit(2);
}

const bun = process.execPath;
const built = Bun.spawnSync([bun, "scripts/build.ts", "fake"], {
  cwd: root,
  stdout: "inherit",
  stderr: "inherit",
});
if (built.exitCode !== 0) process.exit(1);

const plane = await startControlPlane();
let code = 1;
try {
  // A copy: somebody may build again while the tests run.
  mkdirSync(join(plane.folder, "bin"));
  const executable = join(plane.folder, "bin", "fake-cloud-controller-manager");
  copyFileSync(join(root, "dist", "fake-cloud-controller-manager"), executable);
  const runner = Bun.spawn([bun, "test", "--timeout=180000", ...flags, ...files.map((path) => `./${path}`)], {
    cwd: root,
    env: {
      ...process.env,
      FAIRLEAD_CLUSTER_KUBECONFIG: plane.kubeconfig,
      FAIRLEAD_TEST_EXECUTABLE: executable,
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => runner.kill(name));
  code = await runner.exited;
} finally {
  await plane.stop();
}
process.exit(code);

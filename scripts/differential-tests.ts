// `npm run test:differential`: compares Fairlead with upstream's controllers on real control planes from $KUBEBUILDER_ASSETS.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { missingAssets } from "../test/cluster/rig/assets.ts";
import { startControlPlane } from "../test/cluster/rig/control-plane.ts";
import { keepFolder } from "../test/cluster/rig/kept-process.ts";
import { isOtherPeerVariable, peerVariable, upstreamFolder } from "../test/differential/rig/managers.ts";
import { auditFlags, auditPath, planesPerProcess, planesVariable } from "../test/differential/rig/planes.ts";
import { goManagerFolder, goProgram, Unavailable } from "../test/tools/rig/install.ts";

const root = resolve(import.meta.dir, "..");

const usage = `Usage: npm run test:differential -- [--peer "<command>"] [part of a file name]... [bun test options]

Plays the scenarios of test/differential with upstream's controllers and with Fairlead, each on its own control plane and simulated cloud, and compares the results.
KUBEBUILDER_ASSETS must be a folder with etcd and kube-apiserver. Upstream's controllers need go; the first build takes some minutes.

--peer "<command>"   another manager instead: it gets the flags of the framework, and FAKE_ENDPOINT and FAKE_TOKEN of the fake cloud. Its differences need no row of docs/differences.md to occur.
`;

const words = process.argv.slice(2);
if (words.includes("--help") || words.includes("-h")) {
  process.stdout.write(usage);
  process.exit(0);
}
const peerAt = words.indexOf("--peer");
const [, otherPeer] = peerAt === -1 ? [] : words.splice(peerAt, 2);
const flagsAt = words.findIndex((word) => word.startsWith("-"));
const parts = flagsAt === -1 ? words : words.slice(0, flagsAt);
const flags = flagsAt === -1 ? [] : words.slice(flagsAt);

function refuse(reason: string): never {
  process.stderr.write(`The differential tests cannot run: ${reason}.\n`);
  process.exit(2);
}

const missing = missingAssets(["etcd", "kube-apiserver"]);
if (missing !== undefined) refuse(missing);
if (peerAt !== -1 && otherPeer === undefined) refuse("--peer has no command line");
const all = [...new Bun.Glob("test/differential/*.differential.ts").scanSync({ cwd: root })].toSorted();
const chosen = all.filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
if (chosen.length === 0) refuse(`no file has ${parts.join(" or ")} in its name; there are ${all.join(", ")}`);
const missingForKubernetes = missingAssets(["kube-controller-manager", "kubectl"]);
const files = chosen.filter((path) => missingForKubernetes === undefined || !path.includes("kubernetes"));
if (files.length < chosen.length) process.stderr.write(`(skip) kubernetes: ${missingForKubernetes}\n`);
keepLoopbackDirect();

function buildUpstream(): string {
  try {
    return goProgram(upstreamFolder, [goManagerFolder]);
  } catch (error) {
    if (error instanceof Unavailable) refuse(error.message);
    throw error;
  }
}
const peer = otherPeer ?? buildUpstream();
const folder = mkdtempSync(join(tmpdir(), "fairlead-differential-"));
keepFolder(folder);
// Not into dist, because another build may replace it while the tests run.
const built = Bun.spawnSync([process.execPath, "scripts/build.ts", "fake", "--outdir", folder], {
  cwd: root,
  stdout: "ignore",
  stderr: "inherit",
});
if (built.exitCode !== 0) process.exit(1);
const executable = join(folder, "fake-cloud-controller-manager");

/** Most of the time is spent waiting. */
const processCount = Math.min(2, files.length);
const planeCount = processCount * planesPerProcess;

async function startPlane(index: number) {
  const audit = mkdtempSync(join(folder, `audit-${index}-`));
  const apiServerFlags = auditFlags(audit, (path, content) => writeFileSync(path, content));
  const plane = await startControlPlane({ apiServerFlags });
  return { plane, description: { kubeconfig: plane.kubeconfig, audit: auditPath(audit) } };
}

const started = await Promise.allSettled(Array.from({ length: planeCount }, (_, index) => startPlane(index)));
const running = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
let code = 1;
try {
  for (const each of started) if (each.status === "rejected") throw each.reason;
  const runner = Bun.spawn(
    [
      process.execPath,
      "test",
      `--parallel=${processCount}`,
      "--timeout=3600000",
      ...flags,
      ...files.map((path) => `./${path}`),
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        FAIRLEAD_TEST_EXECUTABLE: executable,
        [planesVariable]: JSON.stringify(running.map(({ description }) => description)),
        [peerVariable]: peer,
        [isOtherPeerVariable]: String(otherPeer !== undefined),
      },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => runner.kill(name));
  code = await runner.exited;
} finally {
  await Promise.all(running.map(({ plane }) => plane.stop()));
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);

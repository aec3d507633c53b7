// `npm run test:differential`: compares Fairlead with upstream's controllers on real control planes from $KUBEBUILDER_ASSETS.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { missingAssets } from "../test/cluster/rig/assets.ts";
import { startControlPlane } from "../test/cluster/rig/control-plane.ts";
import { keepFolder } from "../test/cluster/rig/kept-process.ts";
import { isOtherPeerVariable, peerVariable, upstreamFolder } from "../test/differential/rig/managers.ts";
import { auditFlags, auditPath, planesPerProcess, planesVariable } from "../test/differential/rig/planes.ts";
import { goManagerFolder, goProgram, Unavailable } from "../test/tools/rig/install.ts";
import { fail, printHelp } from "./command-line.ts";
import { readJUnit } from "./docs/features.ts";
import { comparison } from "./docs/foreign-tests.ts";
import { recordResult } from "./docs/recorded-results.ts";
import { buildInto, chooseTests, filesLike, runTests, withPlanes } from "./test-runs.ts";

const usage = `Usage: npm run test:differential -- [--peer "<command>"] [--record] [part of a file name]... [bun test options]

Plays the scenarios of test/differential with upstream's controllers and with Fairlead, each on its own control plane and simulated cloud, and compares the results.
KUBEBUILDER_ASSETS must be a folder with etcd and kube-apiserver. Upstream's controllers need go; the first build takes some minutes.

--peer "<command>"   another manager instead: it gets the flags of the framework, and FAKE_ENDPOINT and FAKE_TOKEN of the fake cloud. Its differences need no row of docs/differences.md to occur.
--record             when all scenarios pass, write their number into the file that docs/conformance-results.md is generated from
`;

const words = process.argv.slice(2);
printHelp(usage, words);
const peerAt = words.indexOf("--peer");
const [, otherPeer] = peerAt === -1 ? [] : words.splice(peerAt, 2);
const recordAt = words.indexOf("--record");
if (recordAt !== -1) words.splice(recordAt, 1);

function refuse(reason: string): never {
  return fail(`The differential tests cannot run: ${reason}.`);
}

const missing = missingAssets(["etcd", "kube-apiserver"]);
if (missing !== undefined) refuse(missing);
if (peerAt !== -1 && otherPeer === undefined) refuse("--peer has no command line");
const all = filesLike("test/differential/*.differential.ts");
const { files: chosen, flags } = chooseTests("differential", words, all);
if (recordAt !== -1 && (peerAt !== -1 || words.length > 0))
  refuse("--record needs all scenarios and upstream's controllers, so it takes no --peer, file or option");
const missingForKubernetes = missingAssets(["kube-controller-manager", "kubectl"]);
const files = chosen.filter((path) => missingForKubernetes === undefined || !path.includes("kubernetes"));
if (recordAt !== -1 && files.length < all.length)
  refuse(`--record needs all scenarios, and ${missingForKubernetes}`);
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
/** Most of the time is spent waiting. */
const processCount = Math.min(2, files.length);
const planeCount = processCount * planesPerProcess;
const folder = mkdtempSync(join(tmpdir(), "fairlead-differential-"));
keepFolder(folder);
const executable = buildInto(folder, "fake", "ignore");

async function startPlane(index: number) {
  const audit = mkdtempSync(join(folder, `audit-${index}-`));
  const apiServerFlags = auditFlags(audit, (path, content) => writeFileSync(path, content));
  const plane = await startControlPlane({ apiServerFlags });
  const description = { kubeconfig: plane.kubeconfig, audit: auditPath(audit) };
  return { stop: () => plane.stop(), description };
}

const report = join(folder, "junit.xml");
const reporting = recordAt === -1 ? [] : ["--reporter=junit", `--reporter-outfile=${report}`];
let code = 1;
try {
  code = await withPlanes(planeCount, startPlane, (planes) =>
    runTests([`--parallel=${processCount}`, "--timeout=3600000", ...reporting, ...flags], files, {
      FAIRLEAD_TEST_EXECUTABLE: executable,
      [planesVariable]: JSON.stringify(planes.map(({ description }) => description)),
      [peerVariable]: peer,
      [isOtherPeerVariable]: String(otherPeer !== undefined),
    }),
  );
  if (recordAt !== -1 && code === 0)
    recordResult(
      comparison.id,
      readJUnit(readFileSync(report, "utf8")).filter(({ passed }) => passed).length,
      0,
    );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);

// The API server of a benchmark, in a separate process: kube-apiserver with etcd if $KUBEBUILDER_ASSETS is set, and
// otherwise the test API server, whose times say little about a cluster.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControlPlane } from "../../test/cluster/rig/control-plane.ts";
import { keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { until } from "../../test/cluster/rig/until.ts";
import { processCost } from "./process-cost.ts";
import { readServerRequests, type ServerRequests } from "./server-requests.ts";

export interface BenchServer {
  readonly name: string;
  readonly kubeconfigPath: string;
  /** The server's own counts; undefined if it does not count. */
  readonly requests: () => Promise<ServerRequests | undefined>;
  /** The processor time of the server and of etcd. */
  readonly cpuSeconds: () => number;
  stop(): Promise<void>;
}

export function startBenchServer(): Promise<BenchServer> {
  return (process.env["KUBEBUILDER_ASSETS"] ?? "") === "" ? startTestApiServer() : startRealServer();
}

const cpuSecondsOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + (processCost(pid)?.cpuSeconds ?? Number.NaN), 0);

async function startRealServer(): Promise<BenchServer> {
  const plane = await startControlPlane();
  const tls = { ca: plane.ca, ...plane.issue("bench", ["system:masters"]) };
  return {
    name: "kube-apiserver and etcd",
    kubeconfigPath: plane.kubeconfig,
    requests: async () => readServerRequests(await (await fetch(`${plane.server}/metrics`, { tls })).text()),
    cpuSeconds: () => cpuSecondsOf(plane.pids()),
    stop: plane.stop,
  };
}

async function startTestApiServer(): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  keepFolder(folder);
  const kubeconfigPath = join(folder, "kubeconfig");
  const server = startProcess([
    process.execPath,
    join(import.meta.dir, "test-api-server-process.ts"),
    kubeconfigPath,
  ]);
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until(
      "the test API server to listen",
      () => {
        if (server.exitCode() !== null) {
          throw new Error(`The test API server exited with ${server.exitCode()}.`);
        }
        return server.output().includes("listens");
      },
      { explain: () => server.output() },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    name: "test API server (KUBEBUILDER_ASSETS is not set)",
    kubeconfigPath,
    requests: () => Promise.resolve(undefined),
    cpuSeconds: () => cpuSecondsOf([server.pid]),
    stop,
  };
}

// The API server of a measurement: a real one when $KUBEBUILDER_ASSETS names its executables, else the sandbox, whose
// figures say little about a cluster. Either way it has processes of its own.

import { startControlPlane } from "../../test/cluster/rig/control-plane.ts";
import type { BenchServer } from "./bench-server.ts";
import { readServerWrites } from "./server-writes.ts";
import { startTestApiServer } from "./test-api-server.ts";

async function startRealServer(): Promise<BenchServer> {
  const plane = await startControlPlane();
  const tls = { ca: plane.ca, ...plane.issue("bench", ["system:masters"]) };
  return {
    name: "kube-apiserver and etcd",
    kubeconfigPath: plane.kubeconfig,
    writes: async () => readServerWrites(await (await fetch(`${plane.server}/metrics`, { tls })).text()),
    stop: plane.stop,
  };
}

export function startBenchServer(): Promise<BenchServer> {
  return (process.env["KUBEBUILDER_ASSETS"] ?? "") === "" ? startTestApiServer() : startRealServer();
}

// The API server of a measurement: a real one when $KUBEBUILDER_ASSETS names its executables, else the sandbox in this process,
// whose figures say little about a cluster.

import { startControlPlane } from "../../test/cluster/rig/control-plane.ts";
import { createHttpsSandbox } from "./sandbox-server.ts";

export interface BenchServer {
  readonly name: string;
  readonly kubeconfigPath: string;
  stop(): Promise<void>;
}

export const startBenchServer = async (): Promise<BenchServer> => {
  if ((process.env["KUBEBUILDER_ASSETS"] ?? "") === "") return createHttpsSandbox();
  const plane = await startControlPlane();
  return { name: "kube-apiserver and etcd", kubeconfigPath: plane.kubeconfig, stop: plane.stop };
};

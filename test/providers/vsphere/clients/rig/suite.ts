// What proves the provider of vSphere: vcsim, which is the simulator of vCenter in govmomi, and the Go manager on it.

import { join, resolve } from "node:path";
import { testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite, PreparedClient } from "../../../../clients/rig/suite.ts";
import { missingAssets } from "../../../../cluster/rig/assets.ts";
import { goProgram, publishedProgram, Unavailable } from "../../../../tools/rig/install.ts";

const root = resolve(import.meta.dir, "..");

const vcsimProgram = (): string => `FAIRLEAD_VCSIM=${goProgram(join(root, "vcsim"))}`;

function vcsim(): PreparedClient {
  const { name, command } = testFile("vcsim", join(root, "vcsim.client.ts"), 300);
  return { name, command: ["env", vcsimProgram(), ...command] };
}

/** Throws Unavailable without Go or a control plane. */
function peer(): PreparedClient {
  const missing = missingAssets(["etcd", "kube-apiserver"]);
  if (missing !== undefined) throw new Unavailable(missing);
  const manager = publishedProgram({
    module: "k8s.io/cloud-provider-vsphere",
    version: "v1.36.0",
    folder: "cmd/vsphere-cloud-controller-manager",
  });
  const { name, command } = testFile("peer", join(root, "peer.client.ts"), 900);
  return { name, command: ["env", vcsimProgram(), `VSPHERE_GO_MANAGER=${manager}`, ...command] };
}

export const vsphereClients: ClientSuite = {
  clients: { vcsim, peer },
  nightly: ["peer"],
  start: async () => ({ env: () => ({}), async [Symbol.asyncDispose]() {} }),
};

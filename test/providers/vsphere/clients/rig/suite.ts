// The clients of vSphere: VMware's client for Python on the simulator, the provider on vcsim (the
// simulator of vCenter in govmomi), and the Go manager on vcsim.

import { join, resolve } from "node:path";
import { serveCloud } from "#ccm/testing";
import { addDatacenter, password, user } from "../../../../../providers/vsphere/simulator/harness.ts";
import { VSphereCloud } from "../../../../../providers/vsphere/simulator/index.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { needControlPlane, pythonClient, testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite, PreparedClient } from "../../../../clients/rig/suite.ts";
import { goProgram, publishedProgram } from "../../../../tools/rig/install.ts";

const root = resolve(import.meta.dir, "..");
/** Enough machines for several pages. */
const machineCount = 250;

const vcsimProgram = (): string => `FAIRLEAD_VCSIM=${goProgram(join(root, "vcsim"))}`;

function vcsim(): PreparedClient {
  const { name, command } = testFile("vcsim", join(root, "vcsim.client.ts"), 300);
  return { name, command: ["env", vcsimProgram(), ...command] };
}

/** Throws Unavailable without Go or a control plane. */
function peer(): PreparedClient {
  needControlPlane();
  const manager = publishedProgram({
    module: "k8s.io/cloud-provider-vsphere",
    version: "v1.36.0",
    folder: "cmd/vsphere-cloud-controller-manager",
  });
  const { name, command } = testFile("peer", join(root, "peer.client.ts"), 900);
  return { name, command: ["env", vcsimProgram(), `VSPHERE_GO_MANAGER=${manager}`, ...command] };
}

export const vsphereClients: ClientSuite = {
  clients: { python: () => pythonClient("pyvmomi", join(root, "python")), vcsim, peer },
  nightly: ["peer"],
  start: async () => {
    const cloud = new VSphereCloud({ clock: systemClock });
    cloud.addUser(user, password);
    cloud.shared = { user, token: "shared" };
    addDatacenter(cloud);
    for (let index = 0; index < machineCount; index += 1) cloud.inventory.addMachine(`node-${index}`);
    const served = serveCloud(cloud, 0);
    return {
      env: () => ({
        FAIRLEAD_ENDPOINT: served.url,
        FAIRLEAD_USER: user,
        FAIRLEAD_PASSWORD: password,
        FAIRLEAD_MACHINES: String(machineCount),
      }),
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
};

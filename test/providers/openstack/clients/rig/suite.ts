// The clients of OpenStack.

import { join, resolve } from "node:path";
import { csiSanity } from "../../../../clients/csi/prepare.ts";
import { needControlPlane, pythonClient, testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite, PreparedClient } from "../../../../clients/rig/suite.ts";
import { goProgram } from "../../../../tools/rig/install.ts";
import { prepareServices } from "../../services/rig/prepare.ts";

const root = resolve(import.meta.dir, "..");

/** Adds the command that runs openstacksdk. */
function withSDK({ name, command }: PreparedClient): PreparedClient {
  const sdk = pythonClient("openstacksdk", join(root, "python")).command;
  return { name, command: ["env", `FAIRLEAD_OPENSTACK_SDK=${JSON.stringify(sdk)}`, ...command] };
}

const rehearsal = () => testFile("rehearsal", join(root, "rehearsal/rehearsal.client.ts"), 400);

function goManager(): string {
  const tool = "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager";
  return `OPENSTACK_CCM=${goProgram(join(root, "rehearsal/peer"), [], tool)} --cloud-provider=openstack`;
}

/** The rehearsal with the Go manager, which is built from its module. */
function rehearsalWithGo(): PreparedClient {
  const { command } = rehearsal();
  const only = "--test-name-pattern=from the Go manager";
  return { name: "rehearsal with the Go manager", command: ["env", goManager(), ...command, only] };
}

/** The same pairs of specifications with the Go manager and with Fairlead, each in its own project. */
function pairs(): PreparedClient {
  const { name, command } = testFile("pairs", join(root, "pairs/pairs.client.ts"), 1800);
  return { name, command: ["env", goManager(), ...command] };
}

/** Fairlead for one class beside the Go manager. Throws Unavailable without a control plane. */
function classes(): PreparedClient {
  needControlPlane();
  const { name, command } = testFile("classes", join(root, "classes/classes.client.ts"), 3600);
  return { name, command: ["env", goManager(), ...command] };
}

export const openstackClients: ClientSuite = {
  clients: {
    /** The rehearsal of a change between managers. It has its own cloud. */
    rehearsal,
    csi: () => csiSanity("openstack"),
    upstream: rehearsalWithGo,
    pairs,
    classes,
    /** openstacksdk and the openstack command. They have their own cloud. */
    python: () => withSDK(testFile("openstacksdk", join(root, "python/sdk.client.ts"))),
    /** Fairlead's own manager, and openstacksdk, against the real services. */
    services: () => withSDK(prepareServices("services")),
    /** Many servers, several projects and a cell that is down, on the real services. */
    servers: () => prepareServices("servers"),
  },
  nightly: ["upstream", "pairs", "classes", "services", "servers"],
  start: async () => ({ env: () => ({}), async [Symbol.asyncDispose]() {} }),
};

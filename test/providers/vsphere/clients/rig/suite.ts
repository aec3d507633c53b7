// What proves the provider of vSphere: vcsim, the simulator of vCenter in govmomi.

import { join, resolve } from "node:path";
import { testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite } from "../../../../clients/rig/suite.ts";
import { goProgram } from "../../../../tools/rig/install.ts";

const root = resolve(import.meta.dir, "..");

export const vsphereClients: ClientSuite = {
  clients: {
    vcsim: () => {
      const { name, command } = testFile("vcsim", join(root, "vcsim.client.ts"), 300);
      return { name, command: ["env", `FAIRLEAD_VCSIM=${goProgram(join(root, "vcsim"))}`, ...command] };
    },
  },
  start: async () => ({ env: () => ({}), async [Symbol.asyncDispose]() {} }),
};

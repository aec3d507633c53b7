// The clients of OpenStack.

import { join, resolve } from "node:path";
import { testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite } from "../../../../clients/rig/suite.ts";

const root = resolve(import.meta.dir, "..");

export const openstackClients: ClientSuite = {
  clients: {
    /** The rehearsal of a change between managers. It has its own cloud. */
    rehearsal: () => testFile("rehearsal", join(root, "rehearsal/rehearsal.client.ts"), 400),
  },
  start: async () => ({ env: () => ({}), async [Symbol.asyncDispose]() {} }),
};

// The clients of DigitalOcean.

import { join, resolve } from "node:path";
import { csiSanity } from "../../../../clients/csi/prepare.ts";
import { goClient, pythonClient, testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite } from "../../../../clients/rig/suite.ts";
import { startWorld } from "./world.ts";

const root = resolve(import.meta.dir, "..");

export const digitaloceanClients: ClientSuite = {
  clients: {
    go: () => goClient("godo", join(root, "go")),
    python: () => pythonClient("pydo", join(root, "python")),
    csi: () => csiSanity("digitalocean"),
    /** The rehearsal of a change between managers. It has its own cloud. */
    rehearsal: () => testFile("rehearsal", join(root, "rehearsal/rehearsal.client.ts"), 300),
  },
  start: async () => {
    const world = startWorld();
    return { env: world.env, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
  },
};

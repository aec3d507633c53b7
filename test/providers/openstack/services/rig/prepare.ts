// Prepares the services: their packages and the contents of their databases are in the cache.

import { join } from "node:path";
import { testFile } from "../../../../clients/rig/prepare.ts";
import type { PreparedClient } from "../../../../clients/rig/suite.ts";
import { cached, hashOf, run } from "../../../../tools/rig/cached.ts";
import { servicePackages } from "./packages.ts";
import { isolated } from "./stack.ts";

/** The folder with the packages, and the one with the databases. */
function folders(): readonly string[] {
  const packages = servicePackages();
  const sources = ["configuration.ts", "initialise.ts", "seed.ts"].map((name) => join(import.meta.dir, name));
  const initialised = cached(`openstack-databases-${hashOf(sources)}`, (folder) =>
    run(isolated([process.execPath, join(import.meta.dir, "initialise.ts"), packages, folder]), "/"),
  );
  return [packages, initialised];
}

/** The tests run in the namespaces of the services, which end with them. */
export function prepareServices(name: "services" | "servers"): PreparedClient {
  const roots = folders().join(":");
  const { command } = testFile(name, join(import.meta.dir, `../${name}.client.ts`), 1800);
  return { name, command: ["env", `FAIRLEAD_OPENSTACK_FOLDERS=${roots}`, ...isolated(command)] };
}

// The clients of Hetzner Cloud, with Prism in between when the OpenAPI document of the API is available.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { csiSanity } from "../../../../clients/csi/prepare.ts";
import { goClient, pythonClient, testFile } from "../../../../clients/rig/prepare.ts";
import type { Results } from "../../../../clients/rig/results.ts";
import type { ClientSuite, PreparedClient } from "../../../../clients/rig/suite.ts";
import { Unavailable } from "../../../../tools/rig/install.ts";
import { installPrism, type Prism, startPrism } from "./prism.ts";
import { startWorld } from "./world.ts";

const root = resolve(import.meta.dir, "..");

function openApiDocument(): string {
  const setting = process.env["HCLOUD_OPENAPI"] ?? "";
  if (setting === "") throw new Unavailable("HCLOUD_OPENAPI is not set to its path");
  const path = resolve(process.env["INIT_CWD"] ?? process.cwd(), setting);
  if (!existsSync(path)) throw new Unavailable(`HCLOUD_OPENAPI is ${setting}, which does not exist`);
  return path;
}

/** Checks the types of the provider against those of the OpenAPI document. */
function prepareTypes(): PreparedClient {
  const document = openApiDocument();
  const { name, command } = testFile("types", join(root, "types/types.client.ts"));
  return { name, command: ["env", `HCLOUD_OPENAPI=${document}`, ...command] };
}

function prismExecutable(): string {
  try {
    return installPrism();
  } catch (error) {
    const lines = String(error).trim().split("\n");
    throw new Unavailable(`Prism could not be installed: ${lines.at(-1) ?? ""}`);
  }
}

async function prismTo(endpoint: string, results: Results): Promise<Prism | undefined> {
  const find = () => [openApiDocument(), prismExecutable()] as const;
  const found = results.orSkip("check against the OpenAPI document", find);
  return found && startPrism(found[1], found[0], endpoint);
}

/**
 * Without this proof, a change of Prism's output would look like the absence of violations. Returns the number of violations
 * afterwards.
 */
async function proveThatPrismReports(prism: Prism, results: Results): Promise<number> {
  const before = prism.violations().length;
  const headers = { authorization: "Bearer token", "content-type": "application/json" };
  await fetch(`${prism.url}/load_balancers`, { method: "POST", headers, body: '{"name":1}' });
  const isReported = () => prism.violations().length > before;
  const deadline = performance.now() + 60_000;
  while (!isReported() && performance.now() < deadline) await Bun.sleep(20);
  results.result(isReported(), "Prism reports a request that does not fit the OpenAPI document");
  return prism.violations().length;
}

function report(prism: Prism, provoked: number, results: Results): void {
  const violations = prism.violations().slice(provoked);
  for (const line of violations) results.print(line);
  results.result(violations.length === 0, "every request and response fits the OpenAPI document");
}

export const hetznerClients: ClientSuite = {
  clients: {
    python: () => pythonClient("hcloud for Python", join(root, "python")),
    go: () => goClient("hcloud-go", join(root, "go")),
    /** Fairlead's own manager, with the provider under test. */
    fairlead: () => testFile("Fairlead", join(root, "fairlead/manager.client.ts")),
    types: prepareTypes,
    /** csi-sanity of Kubernetes. It has its own cloud. */
    csi: () => csiSanity("hetzner"),
    /** The rehearsal of a change between managers. It has its own cloud. */
    rehearsal: () => testFile("rehearsal", join(root, "rehearsal/rehearsal.client.ts"), 300),
  },
  start: async (results) => {
    const world = startWorld();
    const prism = await prismTo(world.endpoint, results);
    const provoked = prism === undefined ? 0 : await proveThatPrismReports(prism, results);
    return {
      env: () => {
        // Each client sees one action that fails.
        world.cloud.project.actions.plan({ outcome: "fails", command: "reboot_server" });
        return world.env(prism?.url ?? world.endpoint);
      },
      finish: () => prism && report(prism, provoked, results),
      [Symbol.asyncDispose]: async () => {
        await prism?.[Symbol.asyncDispose]();
        await world[Symbol.asyncDispose]();
      },
    };
  },
};

// The clients of Rancher 1.6: the Go client with the Go manager's requests, and Cattle's own Python client.

import { join, resolve } from "node:path";
import { keys } from "../../../../../providers/rancher/simulator/harness.ts";
import { goClient, pythonClient } from "../../../../clients/rig/prepare.ts";
import type { Results } from "../../../../clients/rig/results.ts";
import type { ClientSuite, SuiteOptions } from "../../../../clients/rig/suite.ts";
import { isCurrent, writeTable } from "../../trace/docs.ts";
import { traceOfFairlead } from "../../trace/fairlead.ts";
import type { Change } from "../../trace/measurement.ts";
import { tableOf } from "../../trace/table.ts";
import { SteppedWorld, startRealTimeWorld } from "./world.ts";

const root = resolve(import.meta.dir, "..");

/** The changes that the Go client made, beside the same changes by Fairlead. */
async function compareTraces(
  changes: readonly Change[],
  results: Results,
  { isWriting }: SuiteOptions,
): Promise<void> {
  const table = tableOf(changes, await traceOfFairlead());
  if (isWriting) writeTable(table);
  const title = "docs/clouds/rancher.md states the requests of both managers";
  if (!isCurrent(table)) results.print(`${table}\nTo write it: npm run test:clients -- rancher/go --write`);
  results.result(isCurrent(table), title);
}

export const rancherClients: ClientSuite = {
  clients: {
    python: () => pythonClient("cattle for Python", join(root, "python")),
    go: () => goClient("go-rancher", join(root, "go")),
  },
  start: async (results, options) => {
    const [stepped, realTime] = [new SteppedWorld(), startRealTimeWorld()];
    return {
      env: (client) => ({
        FAIRLEAD_ACCESS_KEY: keys.access,
        FAIRLEAD_SECRET_KEY: keys.secret,
        ...(client === "go"
          ? { FAIRLEAD_ENDPOINT: stepped.endpoint, FAIRLEAD_CONTROL: stepped.control }
          : { FAIRLEAD_ENDPOINT: realTime.endpoint }),
      }),
      after: async (client) => {
        if (client === "go") await compareTraces(stepped.changes, results, options);
      },
      [Symbol.asyncDispose]: async () => {
        await stepped[Symbol.asyncDispose]();
        await realTime[Symbol.asyncDispose]();
      },
    };
  },
};

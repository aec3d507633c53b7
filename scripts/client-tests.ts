// `npm run test:clients`: the clients of the vendors, and Fairlead's manager, drive the simulated clouds over loopback. Clients
// that are missing on this machine are skipped, with a line that states the reason.

import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { casesIn, Results } from "../test/clients/rig/results.ts";
import type { ClientSuite, PreparedClient } from "../test/clients/rig/suite.ts";
import { allClients, clientsNamed, suites } from "../test/clients/suites.ts";
import { Unavailable } from "../test/tools/rig/install.ts";
import { fail, printHelp } from "./command-line.ts";
import { recordResult } from "./docs/recorded-results.ts";

const nightlyClients = Object.entries(suites).flatMap(([cloud, { nightly = [] }]) =>
  nightly.map((client) => `${cloud}/${client}`),
);
const usage = `Usage: npm run test:clients [-- [--write] [--record] [--nightly] NAME...]

Runs the clients of the vendors, and Fairlead's manager, against the simulated clouds. The clients are installed into \${XDG_CACHE_HOME:-~/.cache}/fairlead.
NAME             a cloud, a client, or both: ${allClients.map(({ cloud, client }) => `${cloud}/${client}`).join(", ")}
--nightly        also those that take minutes: ${nightlyClients.join(", ")}
--write          write what was measured to the docs, instead of comparing it with them
--record         write the numbers of clients that pass into the file that docs/conformance-results.md is generated from
HCLOUD_OPENAPI   path of the OpenAPI document of Hetzner Cloud, to check every request, response and type of the provider against it
`;

const words = process.argv.slice(2);
printHelp(usage, words);
const isWriting = words.includes("--write");
const isRecording = words.includes("--record");
const isNightly = words.includes("--nightly");
const names = words.filter((word) => !["--write", "--record", "--nightly"].includes(word));
const unknown = names.find((name) => clientsNamed(name).length === 0);
if (unknown !== undefined) fail(`Unknown client ${unknown}.`, usage);
keepLoopbackDirect();
const results = new Results();

interface NamedReady {
  readonly client: string;
  readonly ready: PreparedClient;
}

async function runClient(
  id: string,
  { name, command }: PreparedClient,
  env: Readonly<Record<string, string>>,
) {
  const child = Bun.spawn([...command], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const output = (await Promise.all(texts)).join("");
  const cases = casesIn(output);
  if (results.add(name, output, await child.exited) && isRecording && cases !== undefined)
    recordResult(id, ...cases);
}

/** The chosen clients that can run here. */
function prepare(cloud: string, { clients }: ClientSuite): readonly NamedReady[] {
  const chosen = names.length === 0 ? allClients : names.flatMap(clientsNamed);
  return Object.entries(clients)
    .filter(([client]) => chosen.some((one) => one.cloud === cloud && one.client === client))
    .flatMap(([client, make]) => {
      const which = `${cloud}/${client}`;
      const ready = results.orSkip(`client ${which}`, () => {
        if (!isNightly && nightlyClients.includes(which) && !names.includes(which))
          throw new Unavailable("it takes minutes; it runs with --nightly, or by this name");
        return make();
      });
      return ready === undefined ? [] : [{ client, ready }];
    });
}

interface ReadySuite {
  readonly cloud: string;
  readonly start: ClientSuite["start"];
  readonly prepared: readonly NamedReady[];
}

async function runSuite({ cloud, start, prepared }: ReadySuite): Promise<void> {
  await using world = await start(results, { isWriting });
  for (const { client, ready } of prepared) {
    await runClient(`${cloud}/${client}`, ready, world.env(client));
    await world.after?.(client);
  }
  world.finish?.();
}

// Installing and building block this process, so both happen before any simulated cloud starts. Then two clouds run at the same
// time, because most clients wait most of the time.
const waiting = Object.entries(suites)
  .map(([cloud, suite]): ReadySuite => ({ cloud, start: suite.start, prepared: prepare(cloud, suite) }))
  .filter(({ prepared }) => prepared.length > 0);

async function runSuites(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await runSuite(next);
}

await Promise.all([runSuites(), runSuites()]);
results.end();

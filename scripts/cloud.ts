// `npm run cloud -- fake`: serves the simulated cloud of a provider over HTTP, for development.

import { parseArgs } from "node:util";
import { FakeCloud } from "../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../providers/fake/simulator/http.ts";
import { HetznerCloud, serveHetznerCloud } from "../providers/hetzner/simulator/index.ts";
import { milliseconds } from "../src/core/brand.ts";
import { defined } from "../src/core/defined.ts";
import { systemClock } from "../src/platform/clock.ts";

const usage = `Usage: npm run cloud -- fake|hetzner [options]

Serves a simulated cloud on 127.0.0.1. docs/fake-cloud.md describes the admin API of the fake one. The API of hetzner is below /v1,
and every other path is Robot's.

  --port <n>               port to listen on (8620)
  --machines <n>           machines to start with (0); those of hetzner are in a network "net"
  --prefix <text>          prefix of their names (node-)
  --latency <ms>           time to answer a request (0)
  --action-time <ms>       time to create or change a load balancer, and of every action of hetzner (300)
  --requests-per-hour <n>  request quota (1000000; hetzner: 3600)
  --token <text>           required bearer token (any token is accepted by default)
`;

function fail(text: string): never {
  process.stderr.write(`${text}\n\n${usage}`);
  process.exit(2);
}

function orFail<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const { positionals, values } = orFail(() =>
  parseArgs({
    allowPositionals: true,
    options: {
      port: { type: "string", default: "8620" },
      machines: { type: "string", default: "0" },
      prefix: { type: "string", default: "node-" },
      latency: { type: "string", default: "0" },
      "action-time": { type: "string", default: "300" },
      "requests-per-hour": { type: "string" },
      token: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  }),
);

const quotas = { fake: 1_000_000, hetzner: 3600 } as const;

function wholeNumber(
  name: "port" | "machines" | "latency" | "action-time" | "requests-per-hour",
  fallback = 0,
): number {
  const number = Number(values[name] ?? fallback);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  return fail(`--${name} must be a whole number, got "${values[name]}".`);
}

if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
if (positionals[0] === undefined) fail("Expected the name of the cloud to serve.");
const name = positionals[0];
if (name !== "fake" && name !== "hetzner")
  fail(`Unknown cloud "${name}". The simulated clouds are "fake" and "hetzner".`);

const count = wholeNumber("machines");
const names = Array.from({ length: count }, (_, index) => `${values.prefix}${index}`);
const options = {
  clock: systemClock,
  latency: milliseconds(wholeNumber("latency")),
  actionTime: milliseconds(wholeNumber("action-time")),
  requestsPerHour: wholeNumber("requests-per-hour", quotas[name]),
};

function serveFake(onPort: number): string {
  const cloud = new FakeCloud(defined({ ...options, token: values.token }));
  for (const machine of names) cloud.machines.add(machine);
  return serveFakeCloud(cloud, onPort).url;
}

function serveHetzner(onPort: number): string {
  const cloud = new HetznerCloud(options);
  if (values.token !== undefined) cloud.tokens.add(values.token);
  const { id: network } = cloud.project.networks.add("net");
  for (const server of names) cloud.project.servers.add(server, { networks: [{ network }] });
  return serveHetznerCloud(cloud, onPort).url;
}

function serve(port: number): string {
  try {
    return name === "hetzner" ? serveHetzner(port) : serveFake(port);
  } catch (error) {
    const isTaken = (error as { readonly code?: unknown } | null)?.code === "EADDRINUSE";
    const problem = isTaken
      ? `Port ${port} is in use, perhaps by another ${name} cloud. Stop that process, or choose another --port; 0 selects any free port.`
      : `The ${name} cloud cannot listen on port ${port}: ${error instanceof Error ? error.message : String(error)}`;
    process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
}

const url = serve(wholeNumber("port"));
const more =
  name === "hetzner"
    ? `Its API is ${new URL("/v1", url)}, and Robot is ${url}.`
    : `Its admin API is under ${new URL("/admin", url)} (docs/fake-cloud.md).`;
process.stdout.write(
  `The ${name} cloud listens on ${url} with ${count} machines. ${more} Press Ctrl-C to stop it.\n`,
);

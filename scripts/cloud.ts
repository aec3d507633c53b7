// `npm run cloud -- fake`: serves the simulated cloud of the fake provider over HTTP, for development.

import { parseArgs } from "node:util";
import { FakeCloud } from "../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../providers/fake/simulator/http.ts";
import { milliseconds } from "../src/core/brand.ts";
import { defined } from "../src/core/defined.ts";
import { systemClock } from "../src/platform/clock.ts";

const usage = `Usage: npm run cloud -- fake [options]

Serves the simulated cloud of the fake provider on 127.0.0.1. docs/fake-cloud.md describes its admin API.

  --port <n>               port to listen on (8620)
  --machines <n>           machines to start with (0)
  --prefix <text>          prefix of their names (node-)
  --latency <ms>           time to answer a request (0)
  --action-time <ms>       time to create or change a load balancer (300)
  --requests-per-hour <n>  request quota (1000000)
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
      "requests-per-hour": { type: "string", default: "1000000" },
      token: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  }),
);

function wholeNumber(name: "port" | "machines" | "latency" | "action-time" | "requests-per-hour"): number {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  return fail(`--${name} must be a whole number, got "${values[name]}".`);
}

if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
if (positionals[0] === undefined) fail("Expected the name of the cloud to serve.");
if (positionals[0] !== "fake") fail(`Unknown cloud "${positionals[0]}". The only simulated cloud is "fake".`);

const cloud = new FakeCloud(
  defined({
    clock: systemClock,
    latency: milliseconds(wholeNumber("latency")),
    actionTime: milliseconds(wholeNumber("action-time")),
    requestsPerHour: wholeNumber("requests-per-hour"),
    token: values.token,
  }),
);
const count = wholeNumber("machines");
for (let index = 0; index < count; index++) cloud.machines.add(`${values.prefix}${index}`);

function serve(port: number): string {
  try {
    return serveFakeCloud(cloud, port).url;
  } catch (error) {
    const isTaken = (error as { readonly code?: unknown } | null)?.code === "EADDRINUSE";
    const problem = isTaken
      ? `Port ${port} is in use, perhaps by another fake cloud. Stop that process, or choose another --port; 0 selects any free port.`
      : `The fake cloud cannot listen on port ${port}: ${error instanceof Error ? error.message : String(error)}`;
    process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
}

const url = serve(wholeNumber("port"));
process.stdout.write(
  `The fake cloud listens on ${url} with ${count} machines. Its admin API is under ${new URL("/admin", url)} (docs/fake-cloud.md). Press Ctrl-C to stop it.\n`,
);

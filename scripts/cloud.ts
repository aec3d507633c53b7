// Serves a simulated cloud to other processes: `bun run cloud fake --port 8620 --machines 1000 --latency 20`. It is a
// development command and no part of any executable.

import { parseArgs } from "node:util";
import { FakeCloud } from "../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../providers/fake/simulator/http.ts";
import { milliseconds } from "../src/core/brand.ts";
import { systemClock } from "../src/platform/clock.ts";

const usage = `Usage: npm run cloud -- fake [--port N] [--machines N] [--prefix node-] [--latency ms]
                         [--action-time ms] [--requests-per-hour N] [--token text]`;

function refuse(error: unknown): never {
  console.error(`${error instanceof Error ? error.message : error}\n${usage}`);
  process.exit(2);
}

function read() {
  return parseArgs({
    allowPositionals: true,
    options: {
      port: { type: "string", default: "8620" },
      machines: { type: "string", default: "0" },
      prefix: { type: "string", default: "node-" },
      latency: { type: "string", default: "0" },
      "action-time": { type: "string", default: "300" },
      "requests-per-hour": { type: "string", default: "1000000" },
      token: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
}

function understood(): ReturnType<typeof read> {
  try {
    return read();
  } catch (error) {
    return refuse(error);
  }
}
const { positionals, values } = understood();

function whole(name: "port" | "machines" | "latency" | "action-time" | "requests-per-hour"): number {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`--${name} must be a whole number, got "${values[name]}".\n${usage}`);
  process.exit(2);
}

if (values.help || positionals[0] !== "fake") {
  console.error(
    positionals[0] === undefined || values.help
      ? usage
      : `There is no simulated cloud "${positionals[0]}".\n${usage}`,
  );
  process.exit(values.help ? 0 : 2);
}

const cloud = new FakeCloud({
  clock: systemClock,
  latency: milliseconds(whole("latency")),
  actionTime: milliseconds(whole("action-time")),
  requestsPerHour: whole("requests-per-hour"),
  ...(values.token !== undefined && { token: values.token }),
});
const count = whole("machines");
for (let index = 0; index < count; index++) cloud.machines.add(`${values.prefix}${index}`);
function serve() {
  try {
    return serveFakeCloud(cloud, whole("port"));
  } catch (error) {
    return refuse(error);
  }
}
const { url } = serve();
console.log(
  `The fake cloud listens on ${url} with ${count} machines; its admin API is under /admin, see docs/fake-cloud.md.`,
);

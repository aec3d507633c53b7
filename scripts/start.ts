// `npm start`: the demo. It runs the real manager against a sandbox, which is a test API server and a simulated cloud, and shows
// a live view on a terminal or plain lines elsewhere. With --until-settled, it exits when everything is done, for scripts.

import manifest from "../package.json" with { type: "json" };
import { milliseconds } from "../src/core/brand.ts";
import { systemClock } from "../src/platform/clock.ts";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { createLog } from "../src/telemetry/log.ts";
import type { LocalCloudDefinition } from "./clouds/local-cloud.ts";
import { cloudChoices, localClouds } from "./clouds/registry.ts";
import { commandLine, fail, oneNamed, orFail, wholeNumber } from "./command-line.ts";
import { Demo } from "./start/demo.ts";
import { demoSteps } from "./start/demo-steps.ts";
import { volumeSteps } from "./start/demo-volumes.ts";
import { openSandbox, type Sandbox, type SandboxOptions } from "./start/sandbox.ts";
import { plain } from "./start/screen.ts";
import { linesOf } from "./start/view.ts";

const usage = `Usage: npm start -- [options]

A demo of Fairlead without a cluster or a cloud account: Nodes join, Services get load balancers, machines are shut down and deleted.

  --cloud <name>        simulated cloud: ${cloudChoices} (fake)
  --nodes <n>           number of Nodes (5)
  --cloud-latency <ms>  time that the cloud takes to answer a request (20)
  --faults              let some cloud requests fail
  --port <n>            port of the API server; 0 for any free port (0)
  --until-settled       exit with 0 when all steps are done, or with 1 after the timeout
  --timeout <s>         seconds after which --until-settled gives up (120)
  --version             print the version
`;

const { values: given } = commandLine(usage, {
  cloud: { type: "string", default: "fake" },
  nodes: { type: "string", default: "5" },
  "cloud-latency": { type: "string", default: "20" },
  faults: { type: "boolean", default: false },
  port: { type: "string", default: "0" },
  "until-settled": { type: "boolean", default: false },
  timeout: { type: "string", default: "120" },
  version: { type: "boolean", default: false },
});
if (given.version) {
  process.stdout.write(`${manifest.version} from the sources\n`);
  process.exit(0);
}

async function openSandboxOrFail(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await openSandbox(options);
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code === "EADDRINUSE")
      return fail(`Port ${options.port} is in use. Choose another --port, or 0 for any free port.`);
    return fail(`The demo could not start: ${error instanceof Error ? error.message : error}`);
  }
}

function draw(sandbox: Sandbox, demo: Demo, elapsedMs: number, write: (text: string) => void): void {
  const { manager, cloud } = sandbox;
  const scene = {
    step: demo.title,
    waitingFor: demo.waitingFor,
    variablesFile: sandbox.variablesFile,
    statusURL: sandbox.statusURL,
    cloudURL: sandbox.cloud.url,
    elapsedMs,
    nodes: manager.nodes.list(),
    machines: new Map(cloud.machines().map(({ name, state }) => [name, state])),
    services: manager.services.list().filter(({ spec }) => spec.type === "LoadBalancer"),
    routes: cloud.routeCount?.(),
    cloudRequests: cloud.api.counts(),
    journal: manager.journal.entries(),
  };
  // The size is 0 if the terminal does not report one.
  const size = { rows: process.stdout.rows || 40, columns: process.stdout.columns || 120 };
  // https://no-color.org
  const hasColors = (process.env["NO_COLOR"] ?? "") === "";
  const lines = linesOf(scene, size).map((line) => `${hasColors ? line : plain(line)}\u001B[K`);
  write(`\u001B[H${lines.join("\n")}\u001B[J`);
}

keepLoopbackDirect();
const nodes = wholeNumber("nodes", given.nodes, 1, 1_000_000);
const timeout = wholeNumber("timeout", given.timeout, 1, 1_000_000) * 1000;
const untilSettled = given["until-settled"];
// A dumb terminal cannot move the cursor, so it gets plain lines.
const isLive = process.stdout.isTTY === true && !untilSettled && process.env["TERM"] !== "dumb";
const write = (text: string) => void process.stdout.write(text);
const log = createLog({
  format: "text",
  verbosity: 0,
  clock: systemClock,
  write: isLive || nodes > 20 ? () => undefined : write,
});

const stop = new AbortController();
const sandbox = await openSandboxOrFail({
  definition: orFail(() => oneNamed<LocalCloudDefinition>("cloud", given.cloud, localClouds)),
  nodes,
  cloudLatency: milliseconds(wholeNumber("cloud-latency", given["cloud-latency"], 0, 1_000_000)),
  faults: given.faults,
  port: wholeNumber("port", given.port, 0, 65_535),
  log,
  signal: stop.signal,
});
const started = systemClock.monotonic();
const elapsed = () => systemClock.monotonic() - started;
const inSeconds = () => `${(elapsed() / 1000).toFixed(1)}s`;
const demo = new Demo({
  steps: [...demoSteps(sandbox, nodes), ...volumeSteps(sandbox)],
  elapsed,
  pause: isLive ? 3000 : 0,
  report: isLive ? () => undefined : (text) => write(`[${inSeconds()}] ${text}\n`),
});

let code = 0;
function end(exitCode: number): void {
  code = exitCode;
  stop.abort(new Error("asked to stop"));
}
// With --until-settled, an interruption must not look like success.
process.on("SIGINT", () => end(untilSettled ? 130 : 0));
process.on("SIGTERM", () => end(untilSettled ? 143 : 0));
// The terminal was closed; the temporary folder must still be removed.
process.on("SIGHUP", () => end(129));
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);
const variableLines = Object.entries(sandbox.variables).map(([name, value]) => `${name}=${value}\n`);
write(isLive ? "\u001B[?1049h\u001B[?25l" : `${variableLines.join("")}Status page: ${sandbox.statusURL}\n`);
const timer = setInterval(() => {
  demo.tick();
  if (isLive) draw(sandbox, demo, elapsed(), write);
  if (!untilSettled) return;
  if (demo.isDone && sandbox.manager.isIdle()) {
    const { length } = sandbox.cloud.api.seen;
    write(`[${inSeconds()}] settled: all steps are done after ${length} cloud requests\n`);
    end(0);
  } else if (elapsed() > timeout) {
    write(`[${inSeconds()}] timed out waiting for ${demo.waitingFor ?? "the work queues to become empty"}\n`);
    end(1);
  }
}, 100);
try {
  await sandbox.ended;
} finally {
  clearInterval(timer);
  if (isLive) write("\u001B[?25h\u001B[?1049l");
}
process.exit(code);

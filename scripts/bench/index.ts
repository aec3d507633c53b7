// `npm run bench -- nodes --count 1000`: measures the built executable and prints a table with what it was measured on. A
// command, and never an assertion.

import { parseArgs } from "node:util";
import { keepLoopbackDirect } from "../../src/seams/environment.ts";
import { describeMachine } from "./machine.ts";
import { measureNodes, type NodesRun } from "./nodes.ts";

const usage = `Usage: npm run bench -- nodes [--count 1000] [--runs 1] [--cloud-latency 20]
                             [--executable path] [--flag=--v=2 …]

Measures nodes that join at once, with the executable in dist/ or the one given. The API server is a real one when
KUBEBUILDER_ASSETS names the folder of etcd and kube-apiserver, else the sandbox.`;

const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(2);
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", default: "1000" },
    runs: { type: "string", default: "1" },
    "cloud-latency": { type: "string", default: "20" },
    executable: { type: "string" },
    flag: { type: "string", multiple: true, default: [] },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}
if (positionals[0] !== "nodes") fail(usage);

const whole = (name: "count" | "runs" | "cloud-latency"): number => {
  const number = Number(values[name]);
  return Number.isSafeInteger(number) && number >= 0
    ? number
    : fail(`--${name} must be a whole number, got "${values[name]}".`);
};

keepLoopbackDirect();
const options = {
  count: whole("count"),
  cloudLatencyMs: whole("cloud-latency"),
  flags: values.flag,
  executable: values.executable,
};
const runs: NodesRun[] = [];
for (let run = 0; run < whole("runs"); run += 1) runs.push(await measureNodes(options));

const one = (number: number | undefined, digits: number): string => number?.toFixed(digits) ?? "–";
const columns: readonly (readonly [string, (run: NodesRun) => string])[] = [
  ["Nodes", ({ count }) => String(count)],
  ["p50 s", ({ middle }) => one(middle, 2)],
  ["Last s", ({ last }) => one(last, 2)],
  ["Last event s", ({ lastEvent }) => one(lastEvent, 2)],
  ["Events", ({ events }) => String(events)],
  ["Cloud calls", ({ cloudCalls }) => String(cloudCalls)],
  ["CPU s", ({ cost }) => one(cost?.cpuSeconds, 2)],
  ["Peak RSS MiB", ({ cost }) => one(cost?.peakMiB, 0)],
];
const lines = [
  `Nodes that join at once; seconds from the start of the process; ${new Date().toISOString().slice(0, 10)}.`,
  `Machine: ${describeMachine()}`,
  `API server: ${runs[0]?.server ?? "none"}; cloud: simulated, ${options.cloudLatencyMs} ms a request; a node has ${one((runs[0]?.nodeBytes ?? 0) / 1000, 1)} KB.`,
  "",
  `| ${columns.map(([title]) => title).join(" | ")} |`,
  `|${columns.map(() => "---").join("|")}|`,
  ...runs.map((run) => `| ${columns.map(([, cell]) => cell(run)).join(" | ")} |`),
];
process.stdout.write(`${lines.join("\n")}\n`);

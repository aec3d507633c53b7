// `npm run bench -- nodes --count 1000`: measures the built executable and prints a table with what it was measured on. A
// command, and never an assertion.

import { parseArgs } from "node:util";
import { keepLoopbackDirect } from "../../src/seams/environment.ts";
import { describeMachine } from "./machine.ts";
import { measureNodes } from "./nodes.ts";
import { measureScrape } from "./scrape.ts";
import { measureServices } from "./services.ts";
import { measureStart } from "./start.ts";
import { decimal, table } from "./table.ts";

const usage = `Usage: npm run bench -- <what> [options]

  nodes      Nodes that join at once                              [--count 1000,5000]
  services   Services made, one Node more, a restart, all deleted [--count 200] [--nodes 1000]
  start      time to the version, and to the first health check
  scrape     a load on /metrics, and the Lease meanwhile          [--seconds 60] [--rate 500]

  --runs <n>            how often (1)
  --cloud-latency <ms>  how long the cloud takes to answer (20)
  --action <ms>         how long it takes to make or change a balancer (0)
  --executable <path>   another one than that in dist/
  --flag=<flag>         a flag for it; may be given several times

The API server is a real one when KUBEBUILDER_ASSETS names the folder of etcd and kube-apiserver, else the sandbox, which
shares this process and says little about a cluster.`;

const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(2);
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string" },
    nodes: { type: "string", default: "1000" },
    runs: { type: "string", default: "1" },
    seconds: { type: "string", default: "60" },
    rate: { type: "string", default: "500" },
    "cloud-latency": { type: "string", default: "20" },
    action: { type: "string", default: "0" },
    executable: { type: "string" },
    flag: { type: "string", multiple: true, default: [] },
    help: { type: "boolean", default: false },
  },
});

const whole = (name: string, given: string): number => {
  const number = Number(given);
  return Number.isSafeInteger(number) && number >= 0
    ? number
    : fail(`--${name} must be a whole number, got "${given}".`);
};

const common = {
  cloudLatencyMs: whole("cloud-latency", values["cloud-latency"]),
  actionMs: whole("action", values.action),
  flags: values.flag,
  executable: values.executable,
};
const countsOr = (fallback: string): readonly number[] =>
  (values.count ?? fallback).split(",").map((word) => whole("count", word));

/** One after the other: they would share the processors. */
const measureAll = async <T>(
  counts: readonly number[],
  measure: (count: number) => Promise<T>,
): Promise<T[]> => {
  const done: T[] = [];
  for (const count of counts) {
    for (let run = 0; run < whole("runs", values.runs); run += 1) done.push(await measure(count));
  }
  return done;
};

const say = (title: string, server: string, rows: string): void => {
  process.stdout.write(
    `${title}; ${new Date().toISOString().slice(0, 10)}.
Machine: ${describeMachine()}
API server: ${server}; cloud: simulated, ${common.cloudLatencyMs} ms a request, ${common.actionMs} ms to make or change a balancer.

${rows}
`,
  );
};

const nodes = async (): Promise<void> => {
  const runs = await measureAll(countsOr("1000"), (count) => measureNodes({ ...common, count }));
  const rows = table(
    [
      ["Nodes", ({ count }) => String(count)],
      ["KB a Node", ({ nodeBytes }) => decimal(nodeBytes / 1000, 1)],
      ["p50 s", ({ middle }) => decimal(middle, 2)],
      ["Last s", ({ last }) => decimal(last, 2)],
      ["Last event s", ({ lastEvent }) => decimal(lastEvent, 2)],
      ["Events", ({ events }) => String(events)],
      ["Cloud calls", ({ cloudCalls }) => String(cloudCalls)],
      ["CPU s", ({ cost }) => decimal(cost?.cpuSeconds, 2)],
      ["Peak RSS MiB", ({ cost }) => decimal(cost?.peakMiB, 0)],
    ],
    runs,
  );
  say("Nodes that join at once; seconds from the start of the process", runs[0]?.server ?? "none", rows);
};

const services = async (): Promise<void> => {
  const nodeCount = whole("nodes", values.nodes);
  const runs = await measureAll(countsOr("200"), (count) => measureServices({ ...common, count, nodeCount }));
  const rows = table(
    [
      ["Services", ({ run }) => String(run.count)],
      ["Step", ({ step }) => step.name],
      ["s", ({ step }) => decimal(step.seconds, 2)],
      ["Cloud requests", ({ step }) => String(step.requests)],
      ["of them mutating", ({ step }) => String(step.mutating)],
    ],
    runs.flatMap((run) => run.steps.map((step) => ({ run, step }))),
  );
  say(`Services with 20 targets each, ${nodeCount} Nodes`, runs[0]?.server ?? "none", rows);
};

const start = async (): Promise<void> => {
  const run = await measureStart({ ...common, count: 0 });
  const rows = table(
    [
      ["--version ms", ({ versionMs }) => decimal(versionMs, 1)],
      ["first /healthz ms", ({ healthyMs }) => decimal(healthyMs, 0)],
    ],
    [run],
  );
  say("Start of the process, medians of 7", run.server, rows);
};

const scrape = async (): Promise<void> => {
  const load = { seconds: whole("seconds", values.seconds), rate: whole("rate", values.rate) };
  const run = await measureScrape({ ...common, count: 0, ...load });
  const rows = table(
    [
      ["Answers", ({ answers }) => String(answers)],
      ["failed", ({ failed }) => String(failed)],
      ["median ms", ({ medianMs }) => decimal(medianMs, 1)],
      ["p99 ms", ({ p99Ms }) => decimal(p99Ms, 1)],
      ["worst ms", ({ worstMs }) => decimal(worstMs, 1)],
      ["longest time between renewals s", (each) => decimal(each.longestRenewalSeconds, 2)],
      ["CPU s", ({ cost }) => decimal(cost?.cpuSeconds, 2)],
    ],
    [run],
  );
  say(`${load.rate} requests per second to /metrics for ${load.seconds} s`, run.server, rows);
};

if (values.help) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}
keepLoopbackDirect();
const measures: Readonly<Record<string, () => Promise<void>>> = { nodes, services, start, scrape };
await (measures[positionals[0] ?? ""] ?? (() => fail(usage)))();

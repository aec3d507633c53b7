// `npm run bench`: measures the built executable and prints the figures with the circumstances of the measurement.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { keepLoopbackDirect } from "../../src/platform/environment.ts";
import { fail } from "../command-line.ts";
import {
  allBenchmarks,
  type BenchmarkGroup,
  clientNodeBenchmarks,
  idleBenchmarks,
  nodesBenchmarks,
  scrapeBenchmarks,
  servicesBenchmarks,
  stallBenchmarks,
  startBenchmarks,
  takeoverBenchmarks,
  volumesBenchmarks,
} from "./benchmarks.ts";
import { chartSvg } from "./charts.ts";
import { comparisonCharts } from "./comparison.ts";
import { describeExecutable, describeLoad, describeMachine } from "./machine.ts";
import { measure } from "./measure.ts";
import { type Options, readOptions } from "./options.ts";
import { chartFolder, chartsOf, insertInto, pageOf } from "./page.ts";
import { executableOf } from "./takeover.ts";
import { builtExecutable } from "./world.ts";

const document = resolve(import.meta.dir, "../../docs/benchmarks.md");
const charted = resolve(import.meta.dir, "../../docs", chartFolder);

function groupsOf({ what, common, counts, nodes, clouds, load }: Options): readonly BenchmarkGroup[] {
  switch (what) {
    case "all":
      return allBenchmarks(common, load);
    case "nodes":
      return [nodesBenchmarks(common, counts ?? [1000])];
    case "services":
      return [
        servicesBenchmarks(
          common,
          (nodes ?? [1000]).flatMap((each) => (counts ?? [200]).map((count) => ({ count, nodes: each }))),
        ),
      ];
    case "start":
      return [startBenchmarks(common)];
    case "idle":
      return [idleBenchmarks(common, nodes ?? [0, 1000])];
    case "volumes":
      return [volumesBenchmarks(common, counts ?? [0, 500])];
    case "scrape":
      return [scrapeBenchmarks(common, load)];
    case "takeover":
      for (const { name } of clouds) requireExecutable(executableOf(name), name);
      return [takeoverBenchmarks(common, clouds, { count: counts?.[0] ?? 1000, nodes: nodes?.[0] ?? 50 })];
    case "stall":
      return [stallBenchmarks(common)];
    case "client-node":
      return [clientNodeBenchmarks()];
    default:
      return fail(`Unknown benchmark "${what}". For all benchmarks: npm run bench -- --help`);
  }
}

function requireExecutable(path: string, cloud: string): void {
  if (!existsSync(path)) fail(`${path} does not exist. Build it with: npm run build ${cloud}`);
}

const options = readOptions();
const { common, runs, output, json, write } = options;
const groups = groupsOf(options);
const executable = common.executable ?? builtExecutable;
requireExecutable(executable, "fake");
keepLoopbackDirect();
const circumstances = {
  date: new Date().toISOString().slice(0, 10),
  executable: describeExecutable(executable),
  machine: describeMachine(),
  load: describeLoad(),
  cloud: `simulated, ${common.cloudLatencyMs} ms per request, ${common.actionMs} ms to create or change a load balancer`,
};
const measured = await measure(groups, runs);
const page = pageOf(circumstances, measured);
process.stdout.write(`${page}\n`);
if (output !== undefined) writeFileSync(output, page);
if (json !== undefined)
  writeFileSync(
    json,
    `${JSON.stringify({ ...circumstances, flags: common.flags, runs: measured.runs }, undefined, 2)}\n`,
  );
if (write) {
  const whole = insertInto(readFileSync(document, "utf8"), page);
  if (whole === undefined)
    fail(`${document} lacks the comments between which the figures are written. Restore them.`);
  else {
    writeFileSync(document, whole);
    const charts = { ...chartsOf(measured.sections), ...comparisonCharts };
    for (const [name, chart] of Object.entries(charts))
      writeFileSync(resolve(charted, name), chartSvg(chart));
  }
}
process.exit(measured.failures.length === 0 ? 0 : 1);

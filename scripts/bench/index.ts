// `npm run bench`: measures the built executable and prints the figures with the circumstances of the measurement.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { keepLoopbackDirect } from "../../src/platform/environment.ts";
import type { LocalCloudDefinition } from "../clouds/local-cloud.ts";
import { cloudsWithBalancers, localClouds } from "../clouds/registry.ts";
import { fail, oneNamed } from "../command-line.ts";
import {
  allBenchmarks,
  type BenchmarkGroup,
  clientNodeBenchmarks,
  idleBenchmarks,
  nodesBenchmarks,
  peersBenchmarks,
  scrapeBenchmarks,
  servicesBenchmarks,
  stallBenchmarks,
  startBenchmarks,
  takeoverBenchmarks,
  volumesBenchmarks,
} from "./benchmarks.ts";
import { chartSvg } from "./charts.ts";
import { type PeersRun, readmeTable } from "./comparison.ts";
import { goManagers } from "./go-managers.ts";
import { describeExecutable, describeLoad, describeMachine, machineClass } from "./machine.ts";
import { type Measured, measure } from "./measure.ts";
import { type Options, readOptions } from "./options.ts";
import { chartFolder, chartsOf, insertInto, pageOf } from "./page.ts";
import { rowsByCloud } from "./peers.ts";
import { builtExecutable } from "./world.ts";

const root = resolve(import.meta.dir, "../..");
const document = resolve(root, "docs/benchmarks.md");
const readme = resolve(root, "README.md");

/** `where` is the description of the measurement in a chart. */
function groupsOf(
  { what, common, counts, nodes, clouds, load }: Options,
  where: string,
): readonly BenchmarkGroup[] {
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
      return [
        takeoverBenchmarks(common, clouds ?? cloudsWithBalancers, {
          count: counts?.[0] ?? 1000,
          nodes: nodes?.[0] ?? 50,
        }),
      ];
    case "peers": {
      const [smallest = 1000, ...others] = (nodes ?? []).toSorted((a, b) => a - b);
      const sizes = [
        { nodes: smallest, services: counts?.[0] ?? 200 },
        ...others.map((each) => ({ nodes: each, services: 0 })),
      ];
      return [peersBenchmarks(common, contestants(clouds), sizes, where)];
    }
    case "stall":
      return [stallBenchmarks(common)];
    case "client-node":
      return [clientNodeBenchmarks()];
    default:
      return fail(`Unknown benchmark "${what}". For all benchmarks: npm run bench -- --help`);
  }
}

function contestants(clouds: readonly LocalCloudDefinition[] | undefined) {
  const measurable = goManagers.map((peer) => ({ cloud: oneNamed("cloud", peer.cloud, localClouds), peer }));
  const without = clouds?.find(({ name }) => !measurable.some(({ cloud }) => cloud.name === name));
  if (without !== undefined) fail(`There is no Go manager to measure ${without.name} beside.`);
  return measurable.filter(({ cloud }) => clouds?.includes(cloud) ?? true);
}

/** The version of the measured manager, which is the same for all clouds. */
function versionOfExecutables({ what, clouds, common }: Options): string {
  const needed = what === "takeover" ? (clouds ?? cloudsWithBalancers) : [common.cloud];
  const all = what === "peers" ? contestants(clouds).map(({ cloud }) => cloud) : needed;
  if (common.executable !== undefined && all.length > 1) fail("--executable needs --clouds with one cloud.");
  const versions = all.map(({ name }) => {
    const path = common.executable ?? builtExecutable(name);
    if (!existsSync(path)) fail(`${path} does not exist. Build it with: npm run build ${name}`);
    return describeExecutable(path);
  });
  if (new Set(versions).size > 1)
    fail(
      `The executables have different versions: ${versions.join(", ")}. Build all of ${all.map(({ name }) => name).join(", ")}.`,
    );
  return versions[0] ?? "";
}

/** Writes the results into the documentation. */
function writePages(what: string, page: string, { sections, runs }: Measured): void {
  writeFileSync(document, insertInto(readFileSync(document, "utf8"), what, page));
  for (const [name, chart] of Object.entries(chartsOf(sections)))
    writeFileSync(resolve(root, "docs", chartFolder, name), chartSvg(chart));
  if (what !== "peers") return;
  const clouds = rowsByCloud(runs.map(({ result }) => result as PeersRun));
  writeFileSync(readme, insertInto(readFileSync(readme, "utf8"), what, readmeTable(clouds)));
}

const options = readOptions();
const { what, common, runs, output, json, write } = options;
const circumstances = {
  date: new Date().toISOString().slice(0, 10),
  executable: versionOfExecutables(options),
  machine: describeMachine(),
  load: describeLoad(),
  cloud: `simulated, ${common.cloudLatencyMs} ms per request, ${common.actionMs} ms to create or change a load balancer`,
};
const groups = groupsOf(options, `${circumstances.date}, ${circumstances.executable}, ${machineClass()}`);
keepLoopbackDirect();
const measured = await measure(groups, runs);
const page = pageOf(circumstances, measured);
process.stdout.write(`${page}\n`);
if (output !== undefined) writeFileSync(output, page);
if (json !== undefined)
  writeFileSync(
    json,
    `${JSON.stringify({ ...circumstances, flags: common.flags, runs: measured.runs }, undefined, 2)}\n`,
  );
if (write) writePages(what, page, measured);
process.exit(measured.failures.length === 0 ? 0 : 1);

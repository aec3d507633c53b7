// Measures how fast Nodes are initialized. All Nodes exist, with their taint, before the process starts; times count from its
// start, as for the Go managers.

import { events, nodes } from "../../src/kube/resources.ts";
import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { type ChartRow, figureText } from "./charts.ts";
import { FollowedNames } from "./follow-names.ts";
import { createNodes } from "./joined-nodes.ts";
import { costSince, type ProcessCost, perObject, processCost, type StepCost } from "./process-cost.ts";
import { describeCost, Progress } from "./progress.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

export interface NodesRun {
  readonly server: string;
  readonly count: number;
  readonly nodeBytes: number;
  /** Seconds from the start of the process. */
  readonly middle: number;
  readonly last: number;
  /** Time of the last Synced event. */
  readonly lastEvent: number;
  readonly events: number;
  readonly cloudCalls: number;
  readonly cost: ProcessCost | undefined;
  readonly cpu: StepCost;
}

const columns: Columns<NodesRun> = [
  ["Nodes", ({ count }) => String(count)],
  ["KB per Node", ({ nodeBytes }) => decimal(nodeBytes / 1000, 1)],
  ["p50 s", ({ middle }) => decimal(middle, 2)],
  ["Last s", ({ last }) => decimal(last, 2)],
  ["Last event s", ({ lastEvent }) => decimal(lastEvent, 2)],
  ["Events", (run) => String(run.events)],
  ["Cloud calls", ({ cloudCalls }) => String(cloudCalls)],
  ["CPU s", ({ cost }) => decimal(cost?.cpuSeconds, 2)],
  ["CPU ms per Node", ({ cost, count }) => decimal(perObject(cost, count), 1)],
  ["Peak RSS MiB", ({ cost }) => decimal(cost?.peakMiB, 0)],
];

/** Go managers lose events: if no new event comes for this long, the rest will not come. */
const quietMs = 5000;

async function describeWrites(bench: Bench): Promise<string> {
  const counted = await bench.requests();
  return counted === undefined
    ? "the server does not count writes"
    : `the server counted ${counted.nodes} patches and ${counted.events} events`;
}

export async function measureNodes(options: BenchOptions, count: number): Promise<NodesRun> {
  await using bench = await Bench.open(options);
  return (await joinAtOnce(bench, count)).run;
}

/** Lets Nodes join at once. The manager continues to run afterwards. */
export async function joinAtOnce(
  bench: Bench,
  count: number,
  { targets = count, flags = [] }: { readonly targets?: number; readonly flags?: readonly string[] } = {},
): Promise<{ readonly manager: KeptProcess; readonly run: NodesRun }> {
  const { api, cloud } = bench;
  const names = await createNodes(bench, count, targets);
  const raw = await api.request({ verb: "get", resource: "nodes", path: `/api/v1/nodes/${names[0]}` }, never);
  // The write that removes the taint adds this label.
  const labelled = { labelSelector: "node.kubernetes.io/instance-type" };
  using initialized = new FollowedNames(api, nodes, labelled);
  using reported = new FollowedNames(api, events, { fieldSelector: "reason=Synced" });
  await Promise.all([initialized.opened, reported.opened]);
  const started = performance.now();
  const manager = bench.start(...flags);
  const before = { ...bench.cost(manager), manager: 0 };
  using _ = new Progress(async () =>
    [
      `${initialized.seenAt.size} of ${count} Nodes initialized, ${reported.seenAt.size} events`,
      await describeWrites(bench),
      `${cloud.api.seen.length} cloud calls`,
      describeCost(processCost(manager.pid)),
      `watches opened ${initialized.openings} + ${reported.openings} times`,
    ].join("; "),
  );
  const lastOf = ({ seenAt }: { readonly seenAt: ReadonlyMap<string, number> }): number =>
    [...seenAt.values()].reduce((latest, at) => Math.max(latest, at), started);
  const isQuiet = () => performance.now() - Math.max(lastOf(initialized), lastOf(reported)) > quietMs;
  const explain = () =>
    `${initialized.seenAt.size} Nodes initialized, ${reported.seenAt.size} events\n${manager.output().slice(-3000)}`;
  // The values at the last change, which is only known later. Reading them often would take time from the manager.
  let [seen, sampledAt, cost, cpu, cloudCalls] = [0, started, processCost(manager.pid), before, 0];
  const isDone = () => initialized.seenAt.size >= count && (reported.seenAt.size >= count || isQuiet());
  await untilDone(
    manager,
    `${count} nodes and their events`,
    () => {
      const [all, now, done] = [initialized.seenAt.size + reported.seenAt.size, performance.now(), isDone()];
      if (all > seen && (now - sampledAt > 100 || done)) {
        [seen, sampledAt] = [all, now];
        [cost, cpu, cloudCalls] = [processCost(manager.pid), bench.cost(manager), cloud.api.seen.length];
      }
      return done;
    },
    { seconds: 600, everyMs: 20, explain },
  );
  const times = [...initialized.seenAt.values()].toSorted((a, b) => a - b);
  const since = (at: number | undefined): number => ((at ?? Number.NaN) - started) / 1000;
  const run = {
    server: bench.serverName,
    count,
    nodeBytes: JSON.stringify(raw).length,
    middle: since(times[Math.floor(times.length / 2)]),
    last: since(times.at(-1)),
    lastEvent: since(lastOf(reported)),
    events: reported.seenAt.size,
    cloudCalls,
    cost,
    cpu: costSince(before, cpu),
  };
  return { manager, run };
}

export function nodesSection(runs: readonly NodesRun[]): Section {
  const row = (label: string, unit: string, value: number): ChartRow => ({
    label,
    unit,
    bars: [{ name: "Fairlead", value }],
  });
  return sectionOf("Nodes that join at once; seconds from the start of the process", columns, runs, {
    "nodes-growth.svg": {
      title: "Time per Node while many Nodes join at once",
      note: "Until the last Node is initialized, divided by the number of Nodes.",
      rows: runs.map(({ count, last }) =>
        row(`${figureText(count)} Nodes`, "ms per Node", (last * 1000) / count),
      ),
      hasOneScale: true,
    },
    "nodes-calls.svg": {
      title: "Requests to the cloud while many Nodes join at once",
      note: "A listing has one page for each 50 Nodes. A Go manager with its default flags needed 6,501 for 5,000 Nodes.",
      rows: runs.map(({ count, cloudCalls }) => row(`${figureText(count)} Nodes`, "requests", cloudCalls)),
      hasOneScale: true,
    },
  });
}

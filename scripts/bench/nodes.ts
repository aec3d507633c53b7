// Measures nodes that join at once: they are all there, tainted, before the executable starts. Counted from the start of the
// process, as for the Go managers it is compared with.

import { events, nodes } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { followNames } from "./follow-names.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { describeCost, showProgress } from "./progress.ts";
import { type Section, sectionOf } from "./section.ts";
import { type Columns, decimal } from "./table.ts";
import { type Bench, type BenchOptions, openBench, untilDone } from "./world.ts";

export interface NodesRun {
  readonly server: string;
  readonly count: number;
  readonly nodeBytes: number;
  /** Seconds from the start of the process. */
  readonly middle: number;
  readonly last: number;
  /** Until the last of the Synced events was written. */
  readonly lastEvent: number;
  readonly events: number;
  readonly cloudCalls: number;
  readonly cost: ProcessCost | undefined;
}

const columns: Columns<NodesRun> = [
  ["Nodes", ({ count }) => String(count)],
  ["KB a Node", ({ nodeBytes }) => decimal(nodeBytes / 1000, 1)],
  ["p50 s", ({ middle }) => decimal(middle, 2)],
  ["Last s", ({ last }) => decimal(last, 2)],
  ["Last event s", ({ lastEvent }) => decimal(lastEvent, 2)],
  ["Events", (run) => String(run.events)],
  ["Cloud calls", ({ cloudCalls }) => String(cloudCalls)],
  ["CPU s", ({ cost }) => decimal(cost?.cpuSeconds, 2)],
  ["Peak RSS MiB", ({ cost }) => decimal(cost?.peakMiB, 0)],
];

async function sayWrites({ writes }: Bench): Promise<string> {
  const counted = await writes();
  return counted === undefined
    ? "the server does not count"
    : `server counts ${counted.nodes} patches and ${counted.events} events`;
}

export async function measureNodes(options: BenchOptions, count: number): Promise<NodesRun> {
  await using bench = await openBench(options);
  const { api, cloud } = bench;
  const names = Array.from({ length: count }, (_, index) => `node-${String(index).padStart(5, "0")}`);
  for (const name of names) cloud.machines.add(name);
  await inParallel(names, 32, (name) => api.create(nodes, kubeletNode(name), never));
  const raw = await api.request({ verb: "get", resource: "nodes", path: `/api/v1/nodes/${names[0]}` }, never);
  // The label comes in the same write that takes the taint away.
  const labelled = { labelSelector: "node.kubernetes.io/instance-type" };
  const initialized = followNames(api, nodes, labelled, bench.signal);
  const reported = followNames(api, events, { fieldSelector: "reason=Synced" }, bench.signal);
  await Promise.all([initialized.opened, reported.opened]);
  const started = performance.now();
  const manager = bench.start();
  using _ = showProgress(async () =>
    [
      `${initialized.at.size} of ${count} Nodes initialised, ${reported.at.size} events`,
      await sayWrites(bench),
      `${cloud.seen.length} cloud calls`,
      describeCost(processCost(manager.pid)),
      `watches opened ${initialized.openings()} + ${reported.openings()} times`,
    ].join("; "),
  );
  const explain = () =>
    `${initialized.at.size} initialised, ${reported.at.size} told\n${manager.output().slice(-3000)}`;
  await untilDone(
    manager,
    `${count} nodes and their events`,
    () => initialized.at.size >= count && reported.at.size >= count,
    { seconds: 600, everyMs: 20, explain },
  );
  const cost = processCost(manager.pid);
  const times = [...initialized.at.values()].toSorted((a, b) => a - b);
  const since = (at: number | undefined): number => ((at ?? Number.NaN) - started) / 1000;
  return {
    server: bench.serverName,
    count,
    nodeBytes: JSON.stringify(raw).length,
    middle: since(times[Math.floor(times.length / 2)]),
    last: since(times.at(-1)),
    lastEvent: since([...reported.at.values()].reduce((latest, at) => Math.max(latest, at), 0)),
    events: reported.at.size,
    cloudCalls: cloud.seen.length,
    cost,
  };
}

export function nodesSection(runs: readonly NodesRun[]): Section {
  return sectionOf("Nodes that join at once; seconds from the start of the process", columns, runs);
}

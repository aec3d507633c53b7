// Measures nodes that join at once: they are all there, tainted, before the executable starts. Counted from the start of the
// process, as for the Go managers it is compared with.

import { events, nodes } from "../../src/kube/resources.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { until } from "../../test/cluster/rig/until.ts";
import { never } from "../../test/kube/cluster/connect.ts";
import { followNames } from "./follow-names.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";
import { type BenchOptions, mustRun, openBench } from "./world.ts";

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

export const measureNodes = async ({ count, ...options }: BenchOptions): Promise<NodesRun> => {
  await using bench = await openBench(options);
  const { api, cloud } = bench;
  const names = Array.from({ length: count }, (_, index) => `node-${String(index).padStart(5, "0")}`);
  for (const name of names) cloud.machines.add(name);
  await inParallel(names, 32, (name) => api.create(nodes, kubeletNode(name), never));
  const raw = await api.request({ verb: "get", resource: "nodes", path: `/api/v1/nodes/${names[0]}` }, never);
  // The label comes in the same write that takes the taint away.
  const labelled = { labelSelector: "node.kubernetes.io/instance-type" };
  const initialized = followNames(api, nodes, labelled, bench.signal);
  const told = followNames(api, events, { fieldSelector: "reason=Synced" }, bench.signal);
  await Promise.all([initialized.opened, told.opened]);
  const started = performance.now();
  const manager = bench.start();
  const explain = () =>
    `${initialized.at.size} initialised, ${told.at.size} told\n${manager.output().slice(-3000)}`;
  await until(
    `${count} nodes and their events`,
    () => {
      mustRun(manager);
      return initialized.at.size >= count && told.at.size >= count;
    },
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
    lastEvent: since(Math.max(...told.at.values())),
    events: told.at.size,
    cloudCalls: cloud.seen.length,
    cost,
  };
};

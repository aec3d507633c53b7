// Measures nodes that join at once: they are all there, tainted, before the executable starts. Counted from the start of the
// process, as for the Go managers it is compared with.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { events, nodes } from "../../src/kube/resources.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { inParallel } from "../../test/cluster/rig/in-parallel.ts";
import { keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { kubeletNode } from "../../test/cluster/rig/kubelet-objects.ts";
import { until } from "../../test/cluster/rig/until.ts";
import { connect, never } from "../../test/kube/cluster/connect.ts";
import { startBenchServer } from "./api-server.ts";
import { followNames } from "./follow-names.ts";
import { type ProcessCost, processCost } from "./process-cost.ts";

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

export interface NodesOptions {
  readonly count: number;
  readonly cloudLatencyMs: number;
  readonly flags: readonly string[];
  /** Another manager to measure in our place; ours unless told. */
  readonly executable: string | undefined;
}

const executableName = "fake-cloud-controller-manager";

export const measureNodes = async ({
  count,
  cloudLatencyMs,
  flags,
  executable,
}: NodesOptions): Promise<NodesRun> => {
  const server = await startBenchServer();
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  keepFolder(folder);
  const cloud = new FakeCloud({ clock: systemClock, latency: milliseconds(cloudLatencyMs) });
  const served = serveFakeCloud(cloud, 0);
  const stop = new AbortController();
  try {
    const copy = join(folder, executableName);
    copyFileSync(executable ?? resolve(import.meta.dir, "../../dist", executableName), copy);
    const api = await connect(server.kubeconfigPath);
    const names = Array.from({ length: count }, (_, index) => `node-${String(index).padStart(5, "0")}`);
    for (const name of names) cloud.machines.add(name);
    await inParallel(names, 32, (name) => api.create(nodes, kubeletNode(name), never));
    const raw = await api.request(
      { verb: "get", resource: "nodes", path: `/api/v1/nodes/${names[0]}` },
      never,
    );

    // The label comes in the same write that takes the taint away.
    const labelled = { labelSelector: "node.kubernetes.io/instance-type" };
    const initialized = followNames(api, nodes, labelled, stop.signal);
    const told = followNames(api, events, { fieldSelector: "reason=Synced" }, stop.signal);
    await Promise.all([initialized.opened, told.opened]);
    const started = performance.now();
    const manager = startProcess(
      [copy, `--kubeconfig=${server.kubeconfigPath}`, `--config-set=endpoint=${served.url}`, ...flags],
      { cwd: folder },
    );
    const wait = {
      seconds: 300,
      everyMs: 20,
      explain: () =>
        `${initialized.at.size} initialised, ${told.at.size} told\n${manager.output().slice(-3000)}`,
    };
    await until(
      `${count} nodes and their events`,
      () => {
        if (manager.exitCode() !== null) throw new Error(`The manager ended with ${manager.exitCode()}.`);
        return initialized.at.size >= count && told.at.size >= count;
      },
      wait,
    );
    const cost = processCost(manager.pid);
    await manager.stop();
    const times = [...initialized.at.values()].toSorted((a, b) => a - b);
    const since = (at: number | undefined): number => ((at ?? Number.NaN) - started) / 1000;
    return {
      server: server.name,
      count,
      nodeBytes: JSON.stringify(raw).length,
      middle: since(times[Math.floor(times.length / 2)]),
      last: since(times.at(-1)),
      lastEvent: since(Math.max(...told.at.values())),
      events: told.at.size,
      cloudCalls: cloud.seen.length,
      cost,
    };
  } finally {
    stop.abort();
    await served[Symbol.asyncDispose]();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

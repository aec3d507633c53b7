// Measures an idle manager for a minute: memory, processor time and cloud calls. It leads, serves its port and watches Nodes
// that are initialized.

import { readFileSync } from "node:fs";
import { freePort } from "../../test/cluster/rig/free-port.ts";
import type { KeptProcess } from "../../test/cluster/rig/kept-process.ts";
import { joinNodes } from "./joined-nodes.ts";
import { processCost } from "./process-cost.ts";
import { printProgress } from "./progress.ts";
import { type ResidentMemory, readResidentMemory } from "./resident-memory.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";
import { Bench, type BenchOptions, untilDone } from "./world.ts";

export interface IdleRun {
  readonly server: string;
  readonly nodes: number;
  readonly memory: ResidentMemory | undefined;
  readonly peakMiB: number | undefined;
  /** Processor time during the minute. */
  readonly cpuSeconds: number | undefined;
  /** Cloud calls during the minute. */
  readonly cloudCalls: number;
}

const seconds = 60;
const settleMs = 5000;
/** With more processor time than this within `settleMs`, the manager is not idle yet. */
const busySeconds = 0.1;

const columns: Columns<IdleRun> = [
  ["Nodes", ({ nodes }) => String(nodes)],
  ["RSS MiB", ({ memory }) => decimal(memory?.totalMiB, 1)],
  ["of it private", ({ memory }) => decimal(memory?.ownMiB, 1)],
  ["of it pages of the executable", ({ memory }) => decimal(memory?.executableMiB, 1)],
  ["Peak RSS MiB", ({ peakMiB }) => decimal(peakMiB, 1)],
  ["CPU s per minute", ({ cpuSeconds }) => decimal(cpuSeconds, 2)],
  ["Cloud calls per minute", ({ cloudCalls }) => String(cloudCalls)],
];

function memoryOf(pid: number, executable: string): ResidentMemory | undefined {
  try {
    return readResidentMemory(readFileSync(`/proc/${pid}/smaps`, "utf8"), executable);
  } catch {
    return undefined;
  }
}

/** Waits until the startup work is over: the cloud listing, and the update of the Node labels. */
async function untilIdle(manager: KeptProcess): Promise<void> {
  const used = (): number => processCost(manager.pid)?.cpuSeconds ?? 0;
  let before = used();
  const isIdle = (): boolean => {
    const now = used();
    const isBusy = now - before > busySeconds;
    before = now;
    return !isBusy;
  };
  await Bun.sleep(settleMs);
  await untilDone(manager, "it was idle", isIdle, { seconds: 300, everyMs: settleMs });
}

/** A manager that leads and has listed the cloud. */
export async function startIdle(bench: Bench, ...flags: readonly string[]): Promise<KeptProcess> {
  const manager = bench.start(`--secure-port=${freePort()}`, "--bind-address=127.0.0.1", ...flags);
  await untilDone(manager, "it led", () => manager.output().includes("Acquired leadership"), {
    seconds: 120,
  });
  await untilDone(manager, "it listed the cloud", () => bench.cloud.api.seen.length > 0);
  return manager;
}

export async function measureIdle(options: BenchOptions, nodes: number): Promise<IdleRun> {
  await using bench = await Bench.open(options);
  await joinNodes(bench, nodes, nodes);
  const manager = await startIdle(bench);
  printProgress(`  measuring one idle minute with ${nodes} Nodes`);
  return await idleMinute(bench, manager, nodes);
}

/** One minute, after the work of the start is over. */
export async function idleMinute(bench: Bench, manager: KeptProcess, nodes: number): Promise<IdleRun> {
  await untilIdle(manager);
  const [before, calls] = [processCost(manager.pid), bench.cloud.api.seen.length];
  await Bun.sleep(seconds * 1000);
  const after = processCost(manager.pid);
  return {
    server: bench.serverName,
    nodes,
    memory: memoryOf(manager.pid, bench.executable),
    peakMiB: after?.peakMiB,
    cpuSeconds: after && before && after.cpuSeconds - before.cpuSeconds,
    cloudCalls: bench.cloud.api.seen.length - calls,
  };
}

export function idleSection(runs: readonly IdleRun[]): Section {
  return sectionOf(`Idle for ${seconds} s`, columns, runs);
}

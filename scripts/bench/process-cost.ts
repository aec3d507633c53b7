// Reads the processor time and peak memory of a process from /proc; undefined on systems without it.

import { readFileSync } from "node:fs";

export interface ProcessCost {
  readonly cpuSeconds: number;
  readonly peakMiB: number;
}

/** The processor seconds of a step, by process. */
export interface StepCost {
  readonly manager: number;
  /** The API server and etcd. */
  readonly server: number;
  /** The benchmark with the simulated cloud. */
  readonly bench: number;
}

export const costSince = (before: StepCost, now: StepCost): StepCost => ({
  manager: now.manager - before.manager,
  server: now.server - before.server,
  bench: now.bench - before.bench,
});

/** Milliseconds that the first thread of the process has run: in Bun, the thread with the event loop. */
export function mainThreadMs(pid: number): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** Milliseconds of processor time, divided by this number of objects. */
export function perObject(cost: ProcessCost | undefined, count: number): number | undefined {
  return cost && (cost.cpuSeconds * 1000) / count;
}

/** USER_HZ is 100 on every supported architecture. */
const ticksPerSecond = 100;

export function processCost(pid: number): ProcessCost | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const peakKi = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
      peakMiB: peakKi / 1024,
    };
  } catch {
    return undefined;
  }
}

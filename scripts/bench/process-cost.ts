// What a process has used so far, as the kernel counts it: processor time, and the most memory it ever held. It needs /proc;
// elsewhere there are no figures.

import { readFileSync } from "node:fs";

export interface ProcessCost {
  readonly cpuSeconds: number;
  readonly peakMiB: number;
}

/** Ticks of /proc/PID/stat are hundredths of a second on every Linux there is. */
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

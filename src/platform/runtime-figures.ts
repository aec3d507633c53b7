// Resource usage of this process: CPU time, memory and live objects.

import { heapStats } from "bun:jsc";
import { collectGarbage } from "./memory.ts";

export interface RuntimeFigures {
  readonly cpuSeconds: () => number;
  readonly residentBytes: () => number;
  readonly heapBytes: () => number;
  readonly startedAtSeconds: number;
  /** Live objects by type, the most frequent first. Runs a garbage collection. */
  readonly objects: () => readonly (readonly [type: string, count: number])[];
  /** A heap snapshot for the developer tools of browsers. Blocks the process. */
  readonly snapshot: () => string;
}

export const systemFigures: RuntimeFigures = {
  cpuSeconds: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  },
  residentBytes: () => process.memoryUsage.rss(),
  heapBytes: () => process.memoryUsage().heapUsed,
  startedAtSeconds: (Date.now() - performance.now()) / 1000,
  objects: () => {
    collectGarbage();
    return Object.entries(heapStats().objectTypeCounts)
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, 100);
  },
  snapshot: () => Bun.generateHeapSnapshot("v8"),
};

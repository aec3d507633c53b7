// What the operating system and the JavaScript engine say of this process: time used, memory held, objects alive.

import { heapStats } from "bun:jsc";
import { collectGarbage } from "./memory.ts";

export interface RuntimeFigures {
  readonly cpuSeconds: () => number;
  readonly residentBytes: () => number;
  readonly heapBytes: () => number;
  readonly startedAtSeconds: number;
  /** Objects by their type, the most frequent first, after a collection. */
  readonly objects: () => readonly (readonly [type: string, count: number])[];
  /** Every object, in the format that browsers' tools read. Stops the process for as long as it takes. */
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

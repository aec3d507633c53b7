// The only file that triggers garbage collection. Most decoded data is garbage immediately, and without this the collector
// waits until the heap is three times as large as the live data.

import { edenGC, heapStats } from "bun:jsc";

/** Which garbage is collected: what became garbage since the last collection is cheap to find, with any number of Nodes. */
export type CollectGarbage = (which?: "all" | "recent") => void;

export const collectGarbage: CollectGarbage = (which = "all") => {
  if (which === "all") Bun.gc(true);
  else edenGC();
};

const mebibyte = 1_048_576;

/** The resident memory of this process. Reading it takes some microseconds. */
export const residentBytes = (): number => process.memoryUsage.rss();

/** Bytes of garbage that reconciling one object leaves; measured with 5,000 Nodes. */
export const reconcileGarbage = 2048;

/** Of so many collections, one covers everything: only that one returns memory to the system. */
const collectionsOfAll = 4;
/** How many counted bytes lie between two readings of the resident memory. */
const checkEvery = 16_384;

export interface GarbageDeps {
  readonly collect: CollectGarbage | undefined;
  readonly resident: (() => number) | undefined;
}

/**
 * Counts bytes that are garbage a moment later, and collects each time they exceed a threshold. With 5,000 Nodes, collecting
 * everything takes some 20 ms; both numbers suit processor time and memory.
 *
 * How much a reconcile leaves cannot be counted: it is much more for a Service than for a Node. So the process also collects before it
 * grows: memory that has been resident once stays so, because the objects that live on lie scattered between the garbage.
 */
export class GarbageMeter {
  readonly #threshold: number;
  readonly #collect: CollectGarbage | undefined;
  readonly #resident: (() => number) | undefined;
  #bytes = 0;
  #unchecked = 0;
  #collections = 0;
  /** The resident memory after the last collection, or since, if it fell. */
  #floor = 0;

  constructor({ collect, resident }: GarbageDeps, threshold: number = mebibyte) {
    this.#collect = collect;
    this.#resident = resident;
    this.#threshold = threshold;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    this.#unchecked += bytes;
    if (this.#bytes >= this.#threshold || this.#hasGrown()) this.#run();
  }

  #hasGrown(): boolean {
    if (this.#resident === undefined || this.#unchecked < checkEvery) return false;
    this.#unchecked = 0;
    const now = this.#resident();
    if (now < this.#floor + this.#threshold) {
      this.#floor = Math.min(this.#floor, now);
      return false;
    }
    return true;
  }

  #run(): void {
    this.#bytes = 0;
    this.#collections += 1;
    this.#collect?.(this.#collections % collectionsOfAll === 0 ? "all" : "recent");
    this.#floor = this.#resident?.() ?? 0;
  }
}

// Resource usage of this process: CPU time, memory and live objects.

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
  residentBytes,
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

// The only file that triggers garbage collection. Most decoded data is garbage immediately, and without this the collector waits
// until the heap is three times as large as the live data. Also measures the memory use of the process.

import { edenGC, heapStats } from "bun:jsc";

/** Which garbage is collected. Collecting recent garbage is cheap with any number of Nodes. */
export type CollectGarbage = (which?: "all" | "recent") => void;

export const collectGarbage: CollectGarbage = (which = "all") => {
  if (which === "all") Bun.gc(true);
  else edenGC();
};

/** The amount of garbage, or growth of the process, that is worth a collection. */
export const garbageThreshold = 1.5 * 1_048_576;

/** The resident memory of this process. Reading it takes a tenth of a millisecond. */
export const residentBytes = (): number => process.memoryUsage.rss();

/**
 * The garbage from decoding a cloud response, as a multiple of its size: the body, its text and the data that the provider does not
 * keep.
 */
export const decodingGarbage = 4;

/** The number of reconciles after which the resident memory is read. */
export const reconcilesPerLook = 8;

/** The bytes of garbage from reconciling one object; measured with 5,000 Nodes. */
export const reconcileGarbage = 2048;

/** A collection takes longer the more memory is in use, so it waits until this share of the process is garbage. */
const garbageShare = 1 / 100;

/** Every n-th collection is full, because only a full collection returns memory to the system. */
const collectionsOfAll = 8;

export interface GarbageDeps {
  readonly collect: CollectGarbage | undefined;
  readonly resident: (() => number) | undefined;
}

/**
 * Counts bytes that soon become garbage, and collects whenever they exceed a threshold. With 5,000 Nodes, a full collection takes
 * about 20 ms; both numbers balance processor time and memory.
 *
 * The garbage from reconciling objects other than Nodes cannot be counted, because it is much larger and depends on the cloud.
 * After such a reconcile, the process collects if it has grown: resident memory stays resident, because live objects lie
 * scattered between the garbage. After Nodes this would cost time and save nothing, because the growth consists of live objects.
 */
export class GarbageMeter {
  readonly #threshold: number;
  readonly #collect: CollectGarbage | undefined;
  readonly #resident: (() => number) | undefined;
  #bytes = 0;
  #collections = 0;
  #reconciles = 0;
  /** The resident memory after the last collection, or a lower value since then. */
  #floor = 0;

  constructor({ collect, resident }: GarbageDeps, threshold: number = garbageThreshold) {
    this.#collect = collect;
    this.#resident = resident;
    this.#threshold = threshold;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= this.#limit) this.#run();
  }

  get #limit(): number {
    return Math.max(this.#threshold, this.#floor * garbageShare);
  }

  collectIfGrown(): void {
    this.#reconciles += 1;
    if (this.#reconciles % reconcilesPerLook !== 0) return;
    const now = this.#resident?.() ?? 0;
    if (now >= this.#floor + this.#limit) this.#run();
    else this.#floor = Math.min(this.#floor, now);
  }

  #run(): void {
    this.#bytes = 0;
    this.#collections += 1;
    this.#collect?.(this.#collections % collectionsOfAll === 0 ? "all" : "recent");
    this.#floor = this.#resident?.() ?? 0;
  }
}

/** Resource usage of this process: CPU time, memory and live objects. */
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

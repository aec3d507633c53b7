// The only file that triggers garbage collection. Most decoded data is garbage immediately, and without this the collector
// waits until the heap is three times as large as the live data.

import { edenGC } from "bun:jsc";

/** Which garbage is collected: what became garbage since the last collection is cheap to find, with any number of Nodes. */
export type CollectGarbage = (which?: "all" | "recent") => void;

export const collectGarbage: CollectGarbage = (which = "all") => {
  if (which === "all") Bun.gc(true);
  else edenGC();
};

const mebibyte = 1_048_576;

/** Bytes of garbage that reconciling one object leaves; measured with 5,000 Nodes. */
export const reconcileGarbage = 2048;

/** Of so many collections, one covers everything: only that one returns memory to the system. */
const collectionsOfAll = 4;

/**
 * Counts bytes that are garbage a moment later, and collects each time they exceed a threshold. With 5,000 Nodes, collecting
 * everything takes some 20 ms; both numbers suit processor time and memory.
 */
export class GarbageMeter {
  readonly #threshold: number;
  readonly #collect: CollectGarbage | undefined;
  #bytes = 0;
  #collections = 0;

  constructor(collect: CollectGarbage | undefined, threshold: number = mebibyte) {
    this.#collect = collect;
    this.#threshold = threshold;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#threshold) return;
    this.#bytes = 0;
    this.#collections += 1;
    this.#collect?.(this.#collections % collectionsOfAll === 0 ? "all" : "recent");
  }
}

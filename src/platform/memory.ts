// The only file that triggers garbage collection. Most decoded data is garbage immediately, and without this the collector
// waits until the heap is three times as large as the live data.

export const collectGarbage = (): void => Bun.gc(true);

const mebibyte = 1_048_576;

/** Bytes of garbage that reconciling one object leaves; measured with 5,000 Nodes. */
export const reconcileGarbage = 2048;

/**
 * Counts bytes that are garbage a moment later, and collects each time they exceed a threshold. A collection takes some
 * 20 ms with 5,000 Nodes; this threshold suits both processor time and memory.
 */
export class GarbageMeter {
  readonly #threshold: number;
  readonly #collect: (() => void) | undefined;
  #bytes = 0;

  constructor(collect: (() => void) | undefined, threshold: number = 1.5 * mebibyte) {
    this.#collect = collect;
    this.#threshold = threshold;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#threshold) return;
    this.#bytes = 0;
    this.#collect?.();
  }
}

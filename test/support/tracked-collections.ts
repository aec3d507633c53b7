// Tracks every Map and Set that is created while this is active, with its size and place of creation: a memory leak appears
// as a growing number.

interface Tracked {
  readonly collection: WeakRef<{ readonly size: number }>;
  readonly creation: Error;
}

/**
 * The line of src that created the collection. Formatting a stack is expensive, so it waits until the collection is known to
 * be live.
 */
const siteOf = ({ stack = "" }: Error): string | undefined => /(src\/[^\s:)]+):(\d+)/.exec(stack)?.[0];

const overwriteStack = (depth: number): number => (depth === 0 ? 0 : 1 + overwriteStack(depth - 1));

export class TrackedCollections {
  #tracked: Tracked[] = [];
  readonly #real = { Map: globalThis.Map, Set: globalThis.Set };

  constructor() {
    const note = (collection: { readonly size: number }): void => {
      this.#tracked.push({ collection: new WeakRef(collection), creation: new Error() });
    };
    globalThis.Map = class<K, V> extends this.#real.Map<K, V> {
      constructor(entries?: Iterable<readonly [K, V]> | null) {
        super(entries);
        note(this);
      }
    } as unknown as MapConstructor;
    globalThis.Set = class<T> extends this.#real.Set<T> {
      constructor(values?: Iterable<T> | null) {
        super(values);
        note(this);
      }
    } as unknown as SetConstructor;
  }

  /** The number of entries in all live collections, by place of creation, without empty ones. */
  async sizes(): Promise<Readonly<Record<string, number>>> {
    // Values held only by a settled promise are released in a later turn of the event loop.
    for (let turn = 0; turn < 2; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      Bun.gc(true);
    }
    const sizes: Record<string, number> = {};
    this.#tracked = this.#tracked.filter(({ collection }) => collection.deref() !== undefined);
    for (const { collection, creation } of this.#tracked) {
      const size = collection.deref()?.size ?? 0;
      const site = size > 0 ? siteOf(creation) : undefined;
      if (site !== undefined) sizes[site] = (sizes[site] ?? 0) + size;
    }
    return sizes;
  }

  /**
   * The places in this folder of src whose collections stay. The collector reads the stack conservatively: a stale pointer there keeps a
   * collection alive until other calls overwrite it. A leak stays however often it is collected.
   */
  async leaks(folder: string): Promise<readonly string[]> {
    for (let attempt = 1; ; attempt += 1) {
      overwriteStack(500);
      const sites = Object.keys(await this.sizes()).filter((site) => site.includes(folder));
      if (sites.length === 0 || attempt === 20) return sites;
    }
  }

  restore(): void {
    Object.assign(globalThis, this.#real);
  }
}

// Tracks every Map and Set created while it is active, with its size and place of creation: a memory leak shows as a growing
// number.

interface Tracked {
  readonly collection: WeakRef<{ readonly size: number }>;
  readonly site: string;
}

const siteOf = (): string =>
  (new Error().stack ?? "")
    .split("\n")
    .map((line) => /(src\/[^\s:)]+):(\d+)/.exec(line))
    .find((found) => found !== null)?.[0] ?? "elsewhere";

export class TrackedCollections {
  readonly #tracked: Tracked[] = [];
  readonly #real = { Map: globalThis.Map, Set: globalThis.Set };

  constructor() {
    const note = (collection: { readonly size: number }): void => {
      const site = siteOf();
      if (site !== "elsewhere") this.#tracked.push({ collection: new WeakRef(collection), site });
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
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      Bun.gc(true);
    }
    const sizes: Record<string, number> = {};
    for (const { collection, site } of this.#tracked) {
      const size = collection.deref()?.size ?? 0;
      if (size > 0) sizes[site] = (sizes[site] ?? 0) + size;
    }
    return sizes;
  }

  restore(): void {
    Object.assign(globalThis, this.#real);
  }
}

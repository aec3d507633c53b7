// The newest known version of each object: the watch cache, overlaid with the results of Fairlead's own writes until
// the watch has caught up. Without the overlay, a burst of writes would fail on stale versions and be retried.

import { isNewer, type KubeObject, keyOf } from "../kube/objects.ts";
import type { Change, Index, ReadonlyStore } from "../kube/watch/store.ts";

export interface ObjectStore<T> {
  get(key: string): T | undefined;
  list(): readonly T[];
  readonly size: number;
  /** Whether `get` returns the result of a write that the watch has not delivered yet. */
  isAhead?(key: string): boolean;
  subscribe(listener: (change: Change<T>) => void): () => void;
  /** An index of the watch cache; `values` must depend only on the object. */
  index(values: (object: T) => readonly string[]): Index<T>;
}

interface Written<T> {
  readonly object: T;
  /** The number of lists that had begun by then. */
  readonly lists: number;
}

export class LatestObjects<T extends KubeObject> implements ObjectStore<T> {
  readonly #store: ReadonlyStore<T>;
  readonly #written = new Map<string, Written<T>>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  #lists = 0;

  constructor(store: ReadonlyStore<T>) {
    this.#store = store;
    store.subscribe((change) => {
      const { key, after } = change;
      const written = this.#written.get(key)?.object;
      const isBehind =
        after !== undefined &&
        after.metadata.uid === written?.metadata.uid &&
        isNewer(written.metadata.resourceVersion, after.metadata.resourceVersion);
      if (!isBehind) this.#written.delete(key);
      this.#publish(change);
    });
    store.onList((phase) => {
      if (phase === "begins") this.#lists += 1;
      else this.#forgetBeforeList();
    });
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: string): T | undefined {
    const known = this.#store.get(key);
    return known === undefined ? undefined : (this.#written.get(key)?.object ?? known);
  }

  list(): readonly T[] {
    return [...this.#store.list()];
  }

  isAhead(key: string): boolean {
    return this.#written.has(key);
  }

  index(values: (object: T) => readonly string[]): Index<T> {
    return this.#store.index(values);
  }

  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Remembers an object that the API server returned for a write. */
  remember(object: T): void {
    const key = keyOf(object.metadata);
    const known = this.#store.get(key);
    if (known?.metadata.uid !== object.metadata.uid) return;
    if (isNewer(object.metadata.resourceVersion, known.metadata.resourceVersion)) {
      this.#written.set(key, { object, lists: this.#lists });
    }
  }

  /**
   * A complete list contains every write that was answered before the list began. If the list has a lower version,
   * the API server was restored, and the write is lost.
   */
  #forgetBeforeList(): void {
    for (const [key, { object, lists }] of this.#written) {
      if (lists === this.#lists) continue;
      this.#written.delete(key);
      const after = this.#store.get(key);
      if (after !== undefined && after.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.#publish({ key, before: object, after, isFromList: true });
    }
  }

  #publish(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}

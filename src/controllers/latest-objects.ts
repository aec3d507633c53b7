// The newest known version of each object: the watch cache, overlaid with the results of Fairlead's own writes until
// the watch has caught up. Without the overlay, a burst of writes would fail on stale versions and be retried.

import { type KubeObject, keyOf } from "../kube/objects.ts";
import type { Change } from "../kube/watch/store.ts";

export interface ObjectStore<T> {
  get(key: string): T | undefined;
  list(): readonly T[];
  readonly size: number;
  /** Whether `get` returns the result of a write that the watch has not delivered yet. */
  isAhead?(key: string): boolean;
  subscribe(listener: (change: Change<T>) => void): () => void;
}

/**
 * Resource versions are numbers of any length. Comparing them is guaranteed since Kubernetes 1.35, and worked before.
 */
export function isNewer(a: string, b: string): boolean {
  return a.length > b.length || (a.length === b.length && a > b);
}

export class LatestObjects<T extends KubeObject> implements ObjectStore<T> {
  readonly #store: ObjectStore<T>;
  readonly #written = new Map<string, T>();

  constructor(store: ObjectStore<T>) {
    this.#store = store;
    store.subscribe(({ key, after }) => {
      const written = this.#written.get(key);
      if (written === undefined) return;
      const isBehind =
        after?.metadata.uid === written.metadata.uid &&
        isNewer(written.metadata.resourceVersion, after.metadata.resourceVersion);
      if (!isBehind) this.#written.delete(key);
    });
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: string): T | undefined {
    const known = this.#store.get(key);
    return known === undefined ? undefined : (this.#written.get(key) ?? known);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  isAhead(key: string): boolean {
    return this.#written.has(key);
  }

  subscribe(listener: Parameters<ObjectStore<T>["subscribe"]>[0]): () => void {
    return this.#store.subscribe(listener);
  }

  /** Remembers an object that the API server returned for a write. */
  remember(object: T): void {
    const key = keyOf(object.metadata);
    const known = this.#store.get(key);
    if (known?.metadata.uid !== object.metadata.uid) return;
    if (isNewer(object.metadata.resourceVersion, known.metadata.resourceVersion)) {
      this.#written.set(key, object);
    }
  }
}

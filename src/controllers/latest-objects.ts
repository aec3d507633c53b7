// Objects as we know them: the watched ones, and what our own writes brought back until the watch has caught up. Without
// it every burst would try some writes twice.

import type { KubeObject } from "../kube/objects.ts";
import { keyOf } from "../kube/objects.ts";

export interface ObjectStore<T> {
  get(key: string): T | undefined;
  list(): readonly T[];
  readonly size: number;
  /** Whether this one comes from our own write and the watch has not told it yet. */
  isAhead?(key: string): boolean;
  subscribe(
    listener: (change: { readonly key: string; readonly before?: T; readonly after?: T }) => void,
  ): () => void;
}

/** Resource versions are numbers of any length, comparable since Kubernetes 1.35 and in practice since ever. */
export function isNewer(a: string, b: string): boolean {
  return a.length > b.length || (a.length === b.length && a > b);
}

export interface LatestObjects<T> extends ObjectStore<T> {
  remember(object: T): void;
}

export function latestObjects<T extends KubeObject>(store: ObjectStore<T>): LatestObjects<T> {
  const written = new Map<string, T>();
  store.subscribe(({ key, after }) => {
    const ours = written.get(key);
    if (ours === undefined) return;
    const isBehind =
      after?.metadata.uid === ours.metadata.uid &&
      isNewer(ours.metadata.resourceVersion, after.metadata.resourceVersion);
    if (!isBehind) written.delete(key);
  });
  return {
    get: (key) => (store.get(key) === undefined ? undefined : (written.get(key) ?? store.get(key))),
    list: () => store.list(),
    isAhead: (key) => written.has(key),
    get size() {
      return store.size;
    },
    subscribe: (listener) => store.subscribe(listener),
    remember: (object) => {
      const key = keyOf(object.metadata);
      const known = store.get(key);
      if (known?.metadata.uid !== object.metadata.uid) return;
      if (isNewer(object.metadata.resourceVersion, known.metadata.resourceVersion)) written.set(key, object);
    },
  };
}

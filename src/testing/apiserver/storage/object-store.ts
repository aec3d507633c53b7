// Stores objects under one revision counter, with a bounded history for watches, and notifies listeners. object-registry.ts decides
// which writes are allowed.

import { freeze } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { type Resource, resourceNamed } from "../objects/resource-table.ts";

export interface StoredChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly storage: string;
  readonly revision: number;
  readonly object: KubeObject;
  readonly before?: KubeObject;
}

export type ChangeListener = (change: StoredChange) => void;

/** The objects of one resource. */
interface Collection {
  readonly objects: Map<string, KubeObject>;
  /** Sorted as in a listing; undefined after an insertion or removal, until the next listing. */
  sorted: KubeObject[] | undefined;
  history: StoredChange[];
  /** Changes up to this revision have been removed from the history. */
  compactedTo: number;
}

function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

function compareKeys(a: KubeObject, b: KubeObject): number {
  const one = keyOf(a.metadata.namespace, a.metadata.name);
  const other = keyOf(b.metadata.namespace, b.metadata.name);
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * The index of the first entry for which the condition holds, which then holds for all later entries; the length if there is
 * none.
 */
function firstIndex<T>(sorted: readonly T[], holds: (entry: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(sorted[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export class Store {
  #revision = 1;
  readonly #historyLimit: number;
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #jsonCache = new WeakMap<KubeObject, string>();

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  get(plural: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#collectionOf(plural).objects.get(keyOf(namespace, name));
  }

  /** Sorted by key. The array belongs to the store: copy it before the next write. */
  list(plural: string, namespace?: string): readonly KubeObject[] {
    const collection = this.#collectionOf(plural);
    if (collection.sorted === undefined)
      collection.sorted = [...collection.objects.values()].sort(compareKeys);
    if (namespace === undefined || namespace === "") return collection.sorted;
    return collection.sorted.filter((object) => object.metadata.namespace === namespace);
  }

  /** Stores the object under a new revision; listeners are notified before it returns. */
  put(resource: Resource, draft: KubeObject): KubeObject {
    const collection = this.#collectionOf(resource.plural);
    const key = keyOf(draft.metadata.namespace, draft.metadata.name);
    const before = collection.objects.get(key);
    const revision = ++this.#revision;
    const object = freeze({ ...draft, metadata: { ...draft.metadata, resourceVersion: String(revision) } });
    collection.objects.set(key, object);
    if (before === undefined) {
      collection.sorted = undefined;
      this.#notify(collection, { type: "ADDED", storage: resource.plural, revision, object });
      return object;
    }
    const { sorted } = collection;
    if (sorted !== undefined) sorted[firstIndex(sorted, (each) => compareKeys(each, object) >= 0)] = object;
    this.#jsonCache.delete(before);
    this.#notify(collection, { type: "MODIFIED", storage: resource.plural, revision, object, before });
    return object;
  }

  /** Removes the object; the last state in the change has the revision of the removal. */
  remove(resource: Resource, last: KubeObject): KubeObject {
    const collection = this.#collectionOf(resource.plural);
    const key = keyOf(last.metadata.namespace, last.metadata.name);
    const before = collection.objects.get(key);
    const revision = ++this.#revision;
    collection.objects.delete(key);
    collection.sorted = undefined;
    const object = freeze({ ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } });
    const change = { storage: resource.plural, revision, object, before: before ?? last };
    this.#notify(collection, { type: "DELETED", ...change });
    return object;
  }

  /** The object as JSON text, cached while the object is current. */
  jsonOf(object: KubeObject): string {
    const cached = this.#jsonCache.get(object);
    if (cached !== undefined) return cached;
    const text = JSON.stringify(object);
    this.#jsonCache.set(object, text);
    return text;
  }

  /** All changes after the revision; undefined if the history does not reach back that far. */
  changesSince(plural: string, revision: number): readonly StoredChange[] | undefined {
    const { history, compactedTo } = this.#collectionOf(plural);
    if (revision < compactedTo) return undefined;
    return history.slice(firstIndex(history, (change) => change.revision > revision));
  }

  /** Drops the history: watches and listings from an older revision are answered with 410. */
  compact(): void {
    for (const collection of this.#collections.values()) {
      collection.history = [];
      collection.compactedTo = this.#revision;
    }
  }

  /** Returns a function that restores the current objects with their revisions, as from a backup of etcd. */
  backup(): () => void {
    const revision = this.#revision;
    const saved = [...this.#collections].map(([plural, { objects }]) => [plural, new Map(objects)] as const);
    return () => {
      this.#revision = revision;
      this.#collections.clear();
      for (const [plural, objects] of saved)
        this.#collections.set(plural, { objects, sorted: undefined, history: [], compactedTo: revision });
    };
  }

  /** Calls the listener synchronously after each write; returns a function that removes it. */
  onWrite(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #collectionOf(plural: string): Collection {
    let collection = this.#collections.get(plural);
    if (collection === undefined) {
      resourceNamed(plural);
      collection = { objects: new Map(), sorted: [], history: [], compactedTo: 0 };
      this.#collections.set(plural, collection);
    }
    return collection;
  }

  #notify(collection: Collection, change: StoredChange): void {
    collection.history.push(change);
    // Trimmed in batches, so that a full history does not cost a copy per write.
    if (collection.history.length > this.#historyLimit * 1.25) {
      const cut = collection.history.length - this.#historyLimit;
      collection.compactedTo = collection.history[cut - 1]?.revision ?? collection.compactedTo;
      collection.history = collection.history.slice(cut);
    }
    for (const listener of this.#listeners) listener(change);
  }
}

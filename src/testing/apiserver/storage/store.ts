// Objects, one counter of versions, and a bounded history for watches. It keeps and tells; whether a write is allowed is decided by object-registry.ts.

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

interface Shelf {
  readonly objects: Map<string, KubeObject>;
  /** In the order of a listing; made again after an insertion or removal. */
  sorted: KubeObject[] | undefined;
  history: StoredChange[];
  /** Changes up to this revision are forgotten. */
  forgotten: number;
}

function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

function compareKeys(a: KubeObject, b: KubeObject): number {
  const one = keyOf(a.metadata.namespace, a.metadata.name);
  const other = keyOf(b.metadata.namespace, b.metadata.name);
  return one < other ? -1 : one > other ? 1 : 0;
}

export class Store {
  #revision: number;
  readonly #historyLimit: number;
  readonly #shelves = new Map<string, Shelf>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #texts = new WeakMap<KubeObject, string>();

  constructor(historyLimit: number, firstRevision = 1) {
    this.#historyLimit = historyLimit;
    this.#revision = firstRevision;
  }

  get revision(): number {
    return this.#revision;
  }

  get(plural: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#shelf(plural).objects.get(keyOf(namespace, name));
  }

  /** In key order. The array is the store's own: copy it before the next write. */
  list(plural: string, namespace?: string): readonly KubeObject[] {
    const shelf = this.#shelf(plural);
    if (shelf.sorted === undefined) shelf.sorted = [...shelf.objects.values()].sort(compareKeys);
    if (namespace === undefined || namespace === "") return shelf.sorted;
    return shelf.sorted.filter((object) => object.metadata.namespace === namespace);
  }

  count(plural: string): number {
    return this.#shelf(plural).objects.size;
  }

  /** Stores it under a new revision and tells the listeners before it returns. */
  put(resource: Resource, draft: KubeObject): KubeObject {
    const shelf = this.#shelf(resource.storage);
    const key = keyOf(draft.metadata.namespace, draft.metadata.name);
    const before = shelf.objects.get(key);
    const revision = ++this.#revision;
    const object = freeze({ ...draft, metadata: { ...draft.metadata, resourceVersion: String(revision) } });
    shelf.objects.set(key, object);
    if (before === undefined) {
      shelf.sorted = undefined;
      this.#report(shelf, { type: "ADDED", storage: resource.storage, revision, object });
      return object;
    }
    this.#replaceSorted(shelf, before, object);
    this.#texts.delete(before);
    this.#report(shelf, { type: "MODIFIED", storage: resource.storage, revision, object, before });
    return object;
  }

  /** Removes it; the last state in the change carries the revision of the removal. */
  remove(resource: Resource, last: KubeObject): KubeObject {
    const shelf = this.#shelf(resource.storage);
    const key = keyOf(last.metadata.namespace, last.metadata.name);
    const before = shelf.objects.get(key);
    const revision = ++this.#revision;
    shelf.objects.delete(key);
    shelf.sorted = undefined;
    const object = freeze({ ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } });
    this.#report(shelf, {
      type: "DELETED",
      storage: resource.storage,
      revision,
      object,
      before: before ?? last,
    });
    return object;
  }

  /** The object as JSON, made once for as long as it is the current one. */
  text(object: KubeObject): string {
    const known = this.#texts.get(object);
    if (known !== undefined) return known;
    const text = JSON.stringify(object);
    this.#texts.set(object, text);
    return text;
  }

  /** Everything that happened after the revision, or undefined when that is no longer known. */
  changesSince(plural: string, revision: number): readonly StoredChange[] | undefined {
    const { history, forgotten } = this.#shelf(plural);
    if (revision < forgotten) return undefined;
    let low = 0;
    let high = history.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((history[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return history.slice(low);
  }

  /** Forgets all history: every watch and listing from an older revision is then too old. */
  compact(): void {
    for (const shelf of this.#shelves.values()) {
      shelf.history = [];
      shelf.forgotten = this.#revision;
    }
  }

  /** Calls synchronously after each write; returns what ends it. */
  onWrite(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #shelf(plural: string): Shelf {
    let shelf = this.#shelves.get(plural);
    if (shelf === undefined) {
      resourceNamed(plural);
      shelf = { objects: new Map(), sorted: [], history: [], forgotten: 0 };
      this.#shelves.set(plural, shelf);
    }
    return shelf;
  }

  #replaceSorted(shelf: Shelf, before: KubeObject, object: KubeObject): void {
    const { sorted } = shelf;
    if (sorted === undefined) return;
    let low = 0;
    let high = sorted.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const candidate = sorted[middle];
      if (candidate !== undefined && compareKeys(candidate, before) < 0) low = middle + 1;
      else high = middle;
    }
    sorted[low] = object;
  }

  #report(shelf: Shelf, change: StoredChange): void {
    shelf.history.push(change);
    // Cut in slices, so that a full history does not cost a copy a write.
    if (shelf.history.length > this.#historyLimit * 1.25) {
      const cut = shelf.history.length - this.#historyLimit;
      shelf.forgotten = shelf.history[cut - 1]?.revision ?? shelf.forgotten;
      shelf.history = shelf.history.slice(cut);
    }
    for (const listener of this.#listeners) listener(change);
  }
}

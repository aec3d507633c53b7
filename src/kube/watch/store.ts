// Caches the objects of one resource by key. `Reflector` feeds it; a relist replaces the whole content. Its objects must never
// be modified.

import { abortable } from "../../runtime/abortable.ts";
import { type KubeObject, keyOf } from "../objects.ts";
import type { WatchStep } from "./watch-step.ts";

export interface Change<T> {
  readonly key: string;
  /** Unset if the object is new. */
  readonly before?: T;
  /** Unset if the object is gone. */
  readonly after?: T;
  /** Set if the change was found by comparing a new list with the cache, without a watch event. */
  readonly isFromList?: true;
}

export interface Index<T> {
  get(value: string): readonly T[];
}

export interface ReadonlyStore<T> {
  readonly size: number;
  /** True after the first complete list. */
  readonly synced: boolean;
  /** Resolves after the first complete list. */
  whenSynced(signal: AbortSignal): Promise<void>;
  get(key: string): T | undefined;
  list(): IterableIterator<T>;
  /** Calls the listener once per changed key, after the change. Returns the function that unsubscribes. */
  subscribe(listener: (change: Change<T>) => void): () => void;
  /** Calls the listener when a list begins, and when its objects have replaced the content, before the changes are published. */
  onList(listener: (phase: "begins" | "complete") => void): void;
  /** An index that follows all later changes; `values` must depend only on the object. */
  index(values: (object: T) => readonly string[]): Index<T>;
}

interface LiveIndex<T> {
  readonly values: (object: T) => readonly string[];
  readonly keys: Map<string, Set<string>>;
}

export class Store<T extends KubeObject> implements ReadonlyStore<T> {
  #objects = new Map<string, T>();
  #staged: Map<string, T> | undefined;
  #synced = false;
  readonly #whenSynced = Promise.withResolvers<void>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #listListeners: ((phase: "begins" | "complete") => void)[] = [];
  readonly #indexes: LiveIndex<T>[] = [];

  get size(): number {
    return this.#objects.size;
  }

  get synced(): boolean {
    return this.#synced;
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return abortable(this.#whenSynced.promise, signal);
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): IterableIterator<T> {
    return this.#objects.values();
  }

  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onList(listener: (phase: "begins" | "complete") => void): void {
    this.#listListeners.push(listener);
  }

  index(values: (object: T) => readonly string[]): Index<T> {
    const live: LiveIndex<T> = { values, keys: new Map() };
    for (const [key, after] of this.#objects) this.#reindex(live, { key, after });
    this.#indexes.push(live);
    return {
      get: (value) =>
        [...(live.keys.get(value) ?? [])].flatMap((key) => {
          const object = this.#objects.get(key);
          return object === undefined ? [] : [object];
        }),
    };
  }

  apply(step: WatchStep<T>): void {
    switch (step.type) {
      case "begin":
        this.#staged = new Map();
        for (const listener of this.#listListeners) listener("begins");
        return;
      case "object":
        this.#put(step.object);
        return;
      case "deleted":
        this.#remove(keyOf(step.object.metadata));
        return;
      case "complete":
        this.#swap();
        return;
      case "bookmark":
        return;
      case "failed":
        // An incomplete list is discarded.
        this.#staged = undefined;
    }
  }

  #put(object: T): void {
    const key = keyOf(object.metadata);
    const before = this.#objects.get(key);
    const isKnown = before !== undefined && isSameVersion(before, object);
    if (this.#staged !== undefined) {
      // An equal cached object is kept, so that a relist does not double the memory.
      this.#staged.set(key, isKnown ? before : object);
      return;
    }
    if (isKnown) return;
    this.#objects.set(key, object);
    this.#publish(before === undefined ? { key, after: object } : { key, before, after: object });
  }

  #remove(key: string): void {
    if (this.#staged !== undefined) {
      this.#staged.delete(key);
      return;
    }
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#publish({ key, before });
  }

  #swap(): void {
    const previous = this.#objects;
    this.#objects = this.#staged ?? new Map();
    this.#staged = undefined;
    this.#synced = true;
    const changes: Change<T>[] = [];
    const isFromList = true;
    for (const [key, before] of previous) {
      const after = this.#objects.get(key);
      if (after === undefined) changes.push({ key, before, isFromList });
      else if (after !== before) changes.push({ key, before, after, isFromList });
    }
    for (const [key, after] of this.#objects)
      if (!previous.has(key)) changes.push({ key, after, isFromList });
    // All indexes are updated before any listener runs, so that listeners see the complete new content.
    for (const change of changes) for (const live of this.#indexes) this.#reindex(live, change);
    for (const listener of this.#listListeners) listener("complete");
    for (const change of changes) for (const listener of this.#listeners) listener(change);
    this.#whenSynced.resolve();
  }

  #publish(change: Change<T>): void {
    for (const live of this.#indexes) this.#reindex(live, change);
    for (const listener of this.#listeners) listener(change);
  }

  #reindex({ values, keys }: LiveIndex<T>, { key, before, after }: Change<T>): void {
    for (const value of before === undefined ? [] : values(before)) {
      const set = keys.get(value);
      set?.delete(key);
      if (set?.size === 0) keys.delete(value);
    }
    for (const value of after === undefined ? [] : values(after)) {
      const set = keys.get(value);
      if (set === undefined) keys.set(value, new Set([key]));
      else set.add(key);
    }
  }
}

/** The uid is compared, because a new object can have the name of a deleted object. */
function isSameVersion(one: KubeObject, other: KubeObject): boolean {
  return (
    one.metadata.resourceVersion === other.metadata.resourceVersion && one.metadata.uid === other.metadata.uid
  );
}

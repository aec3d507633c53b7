// One listing at a time, shared by all callers while it runs; a failed one is discarded. It records when it began, because
// only a listing that began after a question can prove that something is gone.

import type { Clock } from "../platform/clock.ts";

export interface Complete<T> {
  readonly items: readonly T[];
  readonly pages: number;
  /** Monotonic times. */
  readonly beganAt: number;
  readonly endedAt: number;
  readonly version: number;
}

export interface SnapshotOptions<T> {
  readonly clock: Clock;
  /** Throws when a page is missing. */
  readonly list: (signal: AbortSignal) => AsyncIterable<readonly T[]>;
  /** Identifies an item across listings. Items that have not changed keep their object then. */
  readonly keyOf?: (item: T) => string;
  readonly signal: AbortSignal;
  /** Receives each page of a running listing, which may still fail. */
  readonly onPage?: (items: readonly T[], beganAt: number) => void;
}

export class Snapshot<T> {
  readonly #options: SnapshotOptions<T>;
  #latest: Complete<T> | undefined;
  #running: { readonly beganAt: number; readonly result: Promise<Complete<T>> } | undefined;
  #version = 0;

  constructor(options: SnapshotOptions<T>) {
    this.#options = options;
  }

  /** The last complete listing. A failed one does not replace it. */
  get latest(): Complete<T> | undefined {
    return this.#latest;
  }

  /** A complete listing that began at or after this moment: the latest, the running one, or a new one after it. */
  async beganAfter(moment: number): Promise<Complete<T>> {
    for (;;) {
      if (this.#latest !== undefined && this.#latest.beganAt >= moment) return this.#latest;
      const running = this.#running ?? this.#start();
      if (running.beganAt >= moment) return running.result;
      // It began too early for this caller, so its result does not matter here.
      await running.result.catch(() => undefined);
    }
  }

  #start(): { readonly beganAt: number; readonly result: Promise<Complete<T>> } {
    const beganAt = this.#options.clock.monotonic();
    const result = this.#read(beganAt).finally(() => {
      this.#running = undefined;
    });
    this.#running = { beganAt, result };
    return this.#running;
  }

  async #read(beganAt: number): Promise<Complete<T>> {
    const { list, keyOf, onPage, signal } = this.#options;
    const previous = this.#latest?.items ?? [];
    const reused = keyOf && new ReusedItems(previous, keyOf);
    const items: T[] = [];
    let pages = 0;
    for await (const listed of list(signal)) {
      pages += 1;
      const page = reused?.of(listed) ?? listed;
      for (const item of page) items.push(item);
      onPage?.(page, beganAt);
    }
    signal.throwIfAborted();
    const isSame = items.length === previous.length && items.every((one, at) => one === previous[at]);
    this.#latest = {
      items: isSame ? previous : items,
      pages: Math.max(1, pages),
      beganAt,
      endedAt: this.#options.clock.monotonic(),
      version: ++this.#version,
    };
    return this.#latest;
  }
}

/**
 * Replaces what a listing repeats by the objects of the previous one. Callers detect changes by identity, and a listing leaves no second
 * copy of everything in memory: each page is replaced when it arrives, and what it repeats is garbage at once.
 */
class ReusedItems<T> {
  readonly #keyOf: (item: T) => string;
  readonly #previous: ReadonlyMap<string, T>;
  /** What members that are objects were compared with, and whether they were equal. Items of a listing may share them. */
  readonly #compared = new WeakMap<object, { readonly with: object; readonly isEqual: boolean }>();

  constructor(previous: readonly T[], keyOf: (item: T) => string) {
    this.#keyOf = keyOf;
    this.#previous = new Map(previous.map((item) => [keyOf(item), item]));
  }

  of(page: readonly T[]): readonly T[] {
    return page.map((item) => {
      const same = this.#previous.get(this.#keyOf(item));
      return same !== undefined && this.#isEqual(same, item) ? same : item;
    });
  }

  /** What several items share is compared once: listings would take quadratic time otherwise. */
  #isEqual(one: unknown, other: unknown): boolean {
    if (!isPlain(one) || !isPlain(other)) return Bun.deepEquals(one, other, true);
    const members = Object.entries(other);
    return (
      members.length === Object.keys(one).length &&
      members.every(([name, value]) => Object.hasOwn(one, name) && this.#isSame(one[name], value))
    );
  }

  #isSame(one: unknown, other: unknown): boolean {
    if (Object.is(one, other)) return true;
    if (!isObject(one) || !isObject(other)) return false;
    const known = this.#compared.get(other);
    if (known?.with === one) return known.isEqual;
    const isEqual = Bun.deepEquals(one, other, true);
    this.#compared.set(other, { with: one, isEqual });
    return isEqual;
  }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && Object.getPrototypeOf(value) === Object.prototype;

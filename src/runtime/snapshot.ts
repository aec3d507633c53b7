// A single listing at a time, shared by all callers while it runs; a failed listing is discarded. Records when it began,
// because only a listing that began after a question can prove that something is gone.

import type { Clock } from "../platform/clock.ts";
import { turn } from "./turns.ts";

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
  /** Identifies an item across listings. Unchanged items then keep their object. */
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

  /** The last complete listing, which a failed listing does not replace. */
  get latest(): Complete<T> | undefined {
    return this.#latest;
  }

  /** A complete listing that began at or after this moment: the latest, the running, or the next listing. */
  async beganAfter(moment: number): Promise<Complete<T>> {
    for (;;) {
      if (this.#latest !== undefined && this.#latest.beganAt >= moment) return this.#latest;
      const running = this.#running ?? this.#start();
      if (running.beganAt >= moment) return running.result;
      // The running listing began too early for this caller, so its result does not matter here.
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
      const pause = turn(this.#options.clock);
      if (pause !== undefined) await pause;
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
 * Replaces unchanged objects of a listing with the objects of the previous listing. Callers detect changes by identity, and a
 * listing leaves no second copy of everything in memory: each page is replaced when it arrives, so unchanged objects become garbage
 * immediately.
 */
class ReusedItems<T> {
  readonly #keyOf: (item: T) => string;
  readonly #previous: ReadonlyMap<string, T>;
  /**
   * The first object with which each large member was compared. Items of a listing may share such members, and then share the
   * replacement.
   */
  readonly #compared = new WeakMap<object, { readonly before: object; readonly isEqual: boolean }>();

  constructor(previous: readonly T[], keyOf: (item: T) => string) {
    this.#keyOf = keyOf;
    this.#previous = new Map(previous.map((item) => [keyOf(item), item]));
  }

  of(page: readonly T[]): readonly T[] {
    return page.map((item) => this.#reused(this.#previous.get(this.#keyOf(item)), item));
  }

  /** The previous item if nothing has changed; otherwise the new item, with the unchanged large members of the previous one. */
  #reused(before: T | undefined, item: T): T {
    if (!isPlain(item) || !Object.values(item).some(isLarge))
      return before !== undefined && Bun.deepEquals(before, item, true) ? before : item;
    const old: Members = isPlain(before) ? before : {};
    let result: Members = item;
    let isSame = before !== undefined && Object.keys(old).length === Object.keys(item).length;
    for (const [name, listed] of Object.entries(item)) {
      const value = isLarge(listed) ? this.#shared(old[name], listed) : listed;
      if (value !== listed) result = { ...result, [name]: value };
      isSame &&= Object.hasOwn(old, name) && isEqual(old[name], value);
    }
    return isSame ? (before as T) : (result as T);
  }

  /** Compares shared members of several items only once; a listing would otherwise take quadratic time. */
  #shared(before: unknown, listed: object): object {
    const known = this.#compared.get(listed);
    if (known?.isEqual) return known.before;
    if (!isLarge(before) || known?.before === before) return listed;
    const isEqual = Bun.deepEquals(before, listed, true);
    this.#compared.set(listed, { before, isEqual });
    return isEqual ? before : listed;
  }
}

type Members = Readonly<Record<string, unknown>>;

const isPlain = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Comparing smaller values costs no more than remembering the result. */
const largeSize = 16;

function isLarge(value: unknown): value is object {
  if (value instanceof Map || value instanceof Set) return value.size >= largeSize;
  return Array.isArray(value) && value.length >= largeSize;
}

/** By then, equal large values are the same object. */
function isEqual(before: unknown, value: unknown): boolean {
  return Object.is(before, value) || (!isLarge(value) && Bun.deepEquals(before, value, true));
}

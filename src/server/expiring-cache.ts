// A cache of results with a lifetime and a maximum size. Runs one lookup per key at a time, and caches no errors.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

export interface ExpiringCacheOptions<T> {
  readonly clock: Clock;
  readonly size: number;
  readonly lifetime: (value: T) => Milliseconds;
}

export class ExpiringCache<T> {
  readonly #options: ExpiringCacheOptions<T>;
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #pending = new Map<string, Promise<T>>();

  constructor(options: ExpiringCacheOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, lookUp: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const known = this.#entries.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return Promise.resolve(known.value);
    this.#entries.delete(key);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const started = lookUp()
      .then((value) => {
        this.#add(key, value);
        return value;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, started);
    return started;
  }

  #add(key: string, value: T): void {
    const { clock, size, lifetime } = this.#options;
    const duration = lifetime(value);
    if (duration <= 0) return;
    // A Map iterates in the order of insertion, so the first key is the oldest.
    const oldest = this.#entries.size >= size ? this.#entries.keys().next().value : undefined;
    if (oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, { value, until: clock.monotonic() + duration });
  }
}

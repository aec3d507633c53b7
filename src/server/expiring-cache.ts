// Answers that count for a while, at most so many of them, and one question at a time for each key. Errors are not kept.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

export interface ExpiringCacheOptions<T> {
  readonly clock: Clock;
  readonly size: number;
  readonly lifetime: (value: T) => Milliseconds;
}

export class ExpiringCache<T> {
  readonly #options: ExpiringCacheOptions<T>;
  readonly #kept = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #asking = new Map<string, Promise<T>>();

  constructor(options: ExpiringCacheOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  get(key: string, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const known = this.#kept.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return Promise.resolve(known.value);
    this.#kept.delete(key);
    const pending = this.#asking.get(key);
    if (pending !== undefined) return pending;
    const asked = ask()
      .then((value) => {
        this.#keep(key, value);
        return value;
      })
      .finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  #keep(key: string, value: T): void {
    const { clock, size, lifetime } = this.#options;
    const duration = lifetime(value);
    if (duration <= 0) return;
    // The oldest goes: a map remembers the order in which things came.
    const oldest = this.#kept.size >= size ? this.#kept.keys().next().value : undefined;
    if (oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, { value, until: clock.monotonic() + duration });
  }
}

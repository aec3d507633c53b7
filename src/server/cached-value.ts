// A value that is expensive to compute, computed at most once per lifetime.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

export class CachedValue<T> {
  readonly #make: () => T;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #lifetime: Milliseconds;
  #cached: { readonly value: T; readonly at: number } | undefined;

  constructor(make: () => T, clock: Pick<Clock, "monotonic">, lifetime: Milliseconds = seconds(1)) {
    this.#make = make;
    this.#clock = clock;
    this.#lifetime = lifetime;
  }

  get(): T {
    const now = this.#clock.monotonic();
    if (this.#cached === undefined || now - this.#cached.at >= this.#lifetime) {
      this.#cached = { value: this.#make(), at: now };
    }
    return this.#cached.value;
  }
}

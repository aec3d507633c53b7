// A text that is expensive to build, built at most once per lifetime.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

export class CachedText {
  readonly #make: () => string;
  readonly #clock: Clock;
  readonly #lifetime: Milliseconds;
  #cached: { readonly text: string; readonly at: number } | undefined;

  constructor(make: () => string, clock: Clock, lifetime: Milliseconds = seconds(1)) {
    this.#make = make;
    this.#clock = clock;
    this.#lifetime = lifetime;
  }

  get(): string {
    const now = this.#clock.monotonic();
    if (this.#cached === undefined || now - this.#cached.at >= this.#lifetime) {
      this.#cached = { text: this.#make(), at: now };
    }
    return this.#cached.text;
  }
}

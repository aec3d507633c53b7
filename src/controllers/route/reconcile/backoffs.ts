// Which routes rest after a failure, or while the cloud is still at it, and until when: each by itself, so that one that
// cannot be made does not hold up the others. A route that would lead elsewhere now is another question and rests no more.

import type { Milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";

export type BackoffKind = "failed" | "waiting";

interface Rest {
  readonly about: string;
  readonly kind: BackoffKind;
  readonly until: number;
  readonly failures: number;
}

export class RouteBackoffs {
  readonly #clock: Clock;
  readonly #backoffs = new Map<string, Rest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why it rests now; undefined when it may be tried. */
  of(key: string, about: string): BackoffKind | undefined {
    const rest = this.#backoffs.get(key);
    return rest?.about === about && rest.until > this.#clock.monotonic() ? rest.kind : undefined;
  }

  failuresOf(key: string, about: string): number {
    const rest = this.#backoffs.get(key);
    return rest?.about === about ? rest.failures : 0;
  }

  failed(key: string, about: string, rest: Milliseconds): void {
    const failures = this.failuresOf(key, about) + 1;
    this.#backoffs.set(key, { about, kind: "failed", until: this.#clock.monotonic() + rest, failures });
  }

  wait(key: string, about: string, rest: Milliseconds): void {
    const failures = this.failuresOf(key, about);
    this.#backoffs.set(key, { about, kind: "waiting", until: this.#clock.monotonic() + rest, failures });
  }

  clear(key: string): void {
    this.#backoffs.delete(key);
  }

  /** What is not asked for any more is forgotten. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#backoffs.keys()) if (!keys.has(key)) this.#backoffs.delete(key);
  }

  /**
   * When the first of them ends, monotonic. One that has ended and was not tried waits for another one, such as the removal
   * of what is in its way: it must not bring a look by itself, or there would be one look after the other.
   */
  get next(): number | undefined {
    const now = this.#clock.monotonic();
    let next: number | undefined;
    for (const { until } of this.#backoffs.values()) {
      if (until > now && (next === undefined || until < next)) next = until;
    }
    return next;
  }
}

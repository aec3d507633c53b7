// Work that a simulated cloud completes later. There are no timers: `settle` completes what is due, with the next request.

import type { Milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";

/** Work of a simulated cloud that is completed later: with the first request after it is due. */
export class DueWork {
  readonly #clock: Clock;
  #pending: readonly { readonly due: number; readonly complete: () => void }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Without a delay, it is completed now. */
  add(delay: Milliseconds, complete: () => void): void {
    if (delay <= 0) complete();
    else this.#pending = [...this.#pending, { due: this.#clock.monotonic() + delay, complete }];
  }

  /** Completes what is due, in the order in which it became due. */
  settle(): void {
    const now = this.#clock.monotonic();
    const due = this.#pending.filter((work) => work.due <= now);
    if (due.length === 0) return;
    this.#pending = this.#pending.filter((work) => work.due > now);
    for (const { complete } of due.toSorted((one, other) => one.due - other.due)) complete();
  }
}

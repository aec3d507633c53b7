// What a read shows that lags behind writes: the content of a collection some time ago.

import type { Clock } from "#ccm/testing";

export class LaggingList<T> {
  readonly #clock: Clock;
  readonly #lag: number;
  #versions: readonly { readonly at: number; readonly items: readonly T[] }[] = [];

  constructor(clock: Clock, lag: number) {
    this.#clock = clock;
    this.#lag = lag;
  }

  record(items: readonly T[], at: number = this.#clock.monotonic()): void {
    this.#versions = [...this.#versions, { at, items }];
  }

  read(): readonly T[] {
    const shown = this.#versions.findLastIndex(({ at }) => at + this.#lag <= this.#clock.monotonic());
    this.#versions = this.#versions.slice(Math.max(0, shown));
    return shown < 0 ? [] : (this.#versions[0]?.items ?? []);
  }

  /** From now on, reads show all changes so far. */
  catchUp(): void {
    this.#versions = this.#versions.slice(-1).map(({ items }) => ({ items, at: Number.NEGATIVE_INFINITY }));
  }
}

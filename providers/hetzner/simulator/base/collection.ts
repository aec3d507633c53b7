// The records of one kind, by id. Records are never changed in place, so an earlier listing stays valid: with a lag, listings
// show the state of that long ago, while lookups by id show the current one.

import { type Milliseconds, milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";

interface Stored {
  readonly id: number;
  readonly name: string;
}

export class Collection<T extends Stored> {
  readonly #clock: Clock;
  readonly #byID = new Map<number, T>();
  #list: readonly T[] | undefined;
  #earlier: { readonly until: number; readonly list: readonly T[] }[] = [];
  /** How old the state is that listings show. Takes effect for changes made after it is set. */
  lag: Milliseconds = milliseconds(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  list(): readonly T[] {
    this.#list ??= [...this.#byID.values()];
    return this.#list;
  }

  /** What a listing shows: without a lag, the current records. */
  listed(): readonly T[] {
    const asOf = this.#clock.monotonic() - this.lag;
    this.#earlier = this.#earlier.filter(({ until }) => until > asOf);
    return this.#earlier[0]?.list ?? this.list();
  }

  get(id: number): T | undefined {
    return this.#byID.get(id);
  }

  /** The record with this id or name. */
  find(which: number | string): T | undefined {
    return typeof which === "number" ? this.get(which) : this.list().find(({ name }) => name === which);
  }

  put(record: T): T {
    this.#change(() => this.#byID.set(record.id, record));
    return record;
  }

  delete(id: number): void {
    this.#change(() => this.#byID.delete(id));
  }

  #change(change: () => void): void {
    if (this.lag > 0) this.#earlier.push({ until: this.#clock.monotonic(), list: this.list() });
    change();
    this.#list = undefined;
  }
}

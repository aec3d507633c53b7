// The records of one kind in a simulated cloud, by id. Records are never changed in place, so an earlier listing stays
// valid: with a lag, listings show an older state, and lookups by id the current one. `Ids` creates the ids.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { Refused } from "./refused.ts";

/** The common fields of every resource of a simulated cloud. */
export interface Stored {
  readonly id: number | string;
  readonly name: string;
}

/** The resources of one kind, by id. */
export class Records<T extends Stored> {
  protected readonly clock: Clock;
  /** By id as text, as in paths. */
  readonly #byID = new Map<string, T>();
  #list: readonly T[] | undefined;
  #earlier: { readonly until: number; readonly list: readonly T[] }[] = [];
  /** The age of the state that listings show. Applies to changes made after it is set. */
  lag: Milliseconds = milliseconds(0);

  constructor(clock: Clock) {
    this.clock = clock;
  }

  list(): readonly T[] {
    this.#list ??= [...this.#byID.values()];
    return this.#list;
  }

  /** The content of a listing: without a lag, the current records. */
  listed(): readonly T[] {
    const asOf = this.clock.monotonic() - this.lag;
    this.#earlier = this.#earlier.filter(({ until }) => until > asOf);
    return this.#earlier[0]?.list ?? this.list();
  }

  /** The record with this id or name. */
  find(which: number | string): T | undefined {
    return this.get(which) ?? this.list().find(({ name }) => name === which);
  }

  get(id: number | string): T | undefined {
    return this.#byID.get(String(id));
  }

  /** The record with this id; rejects the request if there is none. */
  withID(id: number | string): T {
    const record = this.get(id);
    if (record === undefined) throw this.missing(id);
    return record;
  }

  /** Like `find`, but rejects the request if there is none. */
  existing(which: number | string): T {
    const record = this.find(which);
    if (record === undefined) throw this.missing(which);
    return record;
  }

  change(which: number | string, changes: Partial<T>): T {
    const record = this.existing(which);
    return this.put({ ...record, ...changes, id: record.id });
  }

  put(record: T): T {
    this.#change(() => this.#byID.set(String(record.id), record));
    return record;
  }

  remove(which: number | string): void {
    const { id } = this.existing(which);
    this.#change(() => this.#byID.delete(String(id)));
  }

  /** The rejection of a request for a record that does not exist. */
  missing(which: number | string): Error {
    return new Refused(404, `${which} not found`);
  }

  #change(change: () => void): void {
    if (this.lag > 0) this.#earlier.push({ until: this.clock.monotonic(), list: this.list() });
    change();
    this.#list = undefined;
  }
}

/**
 * Ids of new resources: numbers and uuids that are the same in every run. All numbers come from one sequence, so that a test
 * detects an id of the wrong kind.
 */
export class Ids {
  readonly clock: Clock;
  #last: number;

  /** The first number is the one after `last`. */
  constructor(clock: Clock, last = 0) {
    this.clock = clock;
    this.#last = last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }

  uuid(): string {
    return `4de7ac8b-495b-4884-9a69-${this.next().toString(16).padStart(12, "0")}`;
  }

  /** The time in ISO 8601. */
  get now(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

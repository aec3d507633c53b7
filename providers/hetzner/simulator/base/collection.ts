// The records of one kind, by id. Records are never changed in place, so an earlier listing stays valid: with a lag, listings
// show the state of that long ago, while lookups by id show the current one.

import { type Milliseconds, milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { notFound, Refusal } from "./answer.ts";

export type ResourceType = "server" | "network" | "load_balancer" | "certificate";

export interface ResourceRef {
  readonly id: number;
  readonly type: ResourceType;
}

interface Stored {
  readonly id: number;
  readonly name: string;
}

/** What collections of one project share. Ids are of one sequence, so that a test notices when an id of the wrong kind is used. */
export class Ids {
  readonly clock: Clock;
  #last = 1_000_000;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

export class Collection<T extends Stored> {
  readonly kind: ResourceType;
  protected readonly clock: Clock;
  readonly #ids: Ids;
  readonly #byID = new Map<number, T>();
  #list: readonly T[] | undefined;
  #earlier: { readonly until: number; readonly list: readonly T[] }[] = [];
  /** How old the state is that listings show. Takes effect for changes made after it is set. */
  lag: Milliseconds = milliseconds(0);

  constructor(kind: ResourceType, ids: Ids) {
    this.kind = kind;
    this.clock = ids.clock;
    this.#ids = ids;
  }

  /** The kind as in the API's messages, such as `load balancer`. */
  get title(): string {
    return this.kind.replaceAll("_", " ");
  }

  /** What each new record has. */
  protected draft(name: string) {
    const created = new Date(this.clock.now()).toISOString();
    return { id: this.#ids.next(), name, created, labels: {} };
  }

  list(): readonly T[] {
    this.#list ??= [...this.#byID.values()];
    return this.#list;
  }

  /** What a listing shows: without a lag, the current records. */
  listed(): readonly T[] {
    const asOf = this.clock.monotonic() - this.lag;
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

  /** The record with this id or name; throws a Refusal if there is none. */
  existing(which: number | string): T {
    const record = this.find(which);
    if (record === undefined) throw notFound(this.kind, which);
    return record;
  }

  /** Throws a Refusal if another record has the name. */
  refuseUsedName(name: string, id?: number): void {
    if (this.list().some((other) => other.name === name && other.id !== id))
      throw new Refusal("uniqueness_error", `${this.title} name is already used`);
  }

  change(which: number | string, changes: Partial<T>): T {
    const record = this.existing(which);
    return this.put({ ...record, ...changes, id: record.id });
  }

  put(record: T): T {
    this.#change(() => this.#byID.set(record.id, record));
    return record;
  }

  delete(id: number): void {
    this.#change(() => this.#byID.delete(id));
  }

  #change(change: () => void): void {
    if (this.lag > 0) this.#earlier.push({ until: this.clock.monotonic(), list: this.list() });
    change();
    this.#list = undefined;
  }
}

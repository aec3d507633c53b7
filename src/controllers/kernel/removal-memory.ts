// The removals of the last ten minutes in memory, with a store that makes them durable. The memory outlives controllers,
// leadership sessions and reloads.

import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { AccountProof } from "./account-proof.ts";
import { type RemovalKind, removalKinds, removalWindow, removalWindowText } from "./removal-kinds.ts";
import { type StoredRemoval, shortId } from "./removal-text.ts";

export interface RemovalStore {
  /** Writes what `removals` returns at that moment, and resolves when the data is stored. */
  store(kind: RemovalKind): Promise<void>;
  /** How to release a hold through this store. */
  howToRelease(kind: RemovalKind): string;
}

const processMemory: RemovalStore = {
  store: () => Promise.resolve(),
  howToRelease: () =>
    "set --removal-limit=off until they are removed; it lifts the limits of Nodes, load balancers, routes and volumes",
};

interface Removal {
  /** Monotonic. */
  readonly at: number;
  readonly isOwn: boolean;
  isStored: boolean;
  /** True if the store had no space for the removal. */
  isOmitted?: boolean;
}

interface Memory {
  /** By short id, oldest first. */
  readonly removals: Map<string, Removal>;
  /** Names by id. */
  readonly held: Map<string, string>;
  /** When each id was released (monotonic), oldest first. */
  readonly released: Map<string, number>;
}

/**
 * A removal that is repeated after this time is stored again first; otherwise a new leader would forget it too early. Half
 * of the window, because stored removals are decided again, and a cycle with many objects is slow.
 */
const storedFor: Milliseconds = minutes(5);

/** Limits the annotation on a Lease to about 200 KiB. Every limit is reached long before this number. */
const maxRemovals = 5000;

/** Remembers removals by id, which is any stable text, such as the uid of a Node or Service. */
export class RemovalMemory {
  /** Doubt about the account holds every kind. */
  readonly account = new AccountProof(() => {
    for (const kind of removalKinds) this.#notify(kind);
  });
  readonly #clock: Clock;
  readonly #memories: Readonly<Record<RemovalKind, Memory>>;
  readonly #listeners = new Set<(kind: RemovalKind) => void>();
  #store: RemovalStore = processMemory;

  constructor(clock: Clock) {
    this.#clock = clock;
    const memory = (): Memory => ({ removals: new Map(), held: new Map(), released: new Map() });
    this.#memories = { nodes: memory(), "load-balancers": memory(), routes: memory(), volumes: memory() };
  }

  /** Without a store, removals last as long as the process. */
  storeWith(store: RemovalStore): void {
    this.#store = store;
  }

  /**
   * Call this before the removal is sent. Resolves when the ids are stored durably; recording an id again within half of the
   * window costs nothing. If it rejects, do not remove.
   */
  async record(kind: RemovalKind, ids: readonly string[]): Promise<void> {
    const { removals } = this.#fresh(kind);
    const added = ids.filter((id) => !removals.has(shortId(id)));
    if (removals.size + added.length > maxRemovals) {
      throw new RangeError(
        `More than ${maxRemovals} ${kind} were removed in the last ${removalWindowText}, which is as many as the Lease can store. Further removals wait until older ones are out of the window.`,
      );
    }
    const repeated = ids.filter((id) => !this.isStored(kind, id));
    if (repeated.length === 0) return;
    this.#add(kind, repeated.map(shortId));
    await this.#store.store(kind);
    if (ids.some((id) => removals.get(shortId(id))?.isOmitted === true)) {
      throw new RangeError(
        `The annotations of the Lease have no room for another removal of ${kind}, so it waits until older ones are out of the window of ${removalWindowText}. Remove large annotations of other programs from the Lease.`,
      );
    }
    for (const id of ids) this.#markStored(kind, shortId(id));
    // The removals are sent now, however long storing took.
    this.note(kind, ids);
  }

  /**
   * Adds removals that were seen, such as deletions by another client. Recorded removals count from now, because they may be
   * sent much later. Stored shortly afterwards.
   */
  note(kind: RemovalKind, ids: readonly string[]): void {
    const { removals } = this.#fresh(kind);
    const at = this.#clock.monotonic();
    for (const id of ids.map(shortId)) {
      const known = removals.get(id);
      if (known === undefined && removals.size >= maxRemovals) continue;
      removals.delete(id);
      removals.set(id, { ...(known ?? { isOwn: false, isStored: false }), at });
    }
  }

  /** True if the id was recorded and stored within the last half of the window. The object may then be removed now. */
  isStored(kind: RemovalKind, id: string): boolean {
    const removal = this.#fresh(kind).removals.get(shortId(id));
    return removal?.isStored === true && this.#clock.monotonic() - removal.at <= storedFor;
  }

  /** Whether this process recorded the id because it was about to remove the object. */
  isOwn(kind: RemovalKind, id: string): boolean {
    return this.#fresh(kind).removals.get(shortId(id))?.isOwn === true;
  }

  /** The number of removals within the window. */
  count(kind: RemovalKind): number {
    return this.#fresh(kind).removals.size;
  }

  /** Whether `count` includes this id. Such an id must not count again as a candidate. */
  has(kind: RemovalKind, id: string): boolean {
    return this.#fresh(kind).removals.has(shortId(id));
  }

  /**
   * The mass limit holds the removal of this id. A release applies to the ids that are held at that moment. The name is for
   * people, such as `node-1` or `default/shop`.
   */
  hold(kind: RemovalKind, id: string, name: string): void {
    this.#memories[kind].held.set(id, name);
  }

  /** Called when the id is no longer held, because it was removed or is needed again. */
  endHold(kind: RemovalKind, id: string): void {
    this.#memories[kind].held.delete(id);
  }

  /** Called when no object of this kind is held, because the controller stops or decides about everything again. */
  endHolds(kind: RemovalKind): void {
    this.#memories[kind].held.clear();
  }

  /** The names of held objects. */
  held(kind: RemovalKind): readonly string[] {
    return [...this.#memories[kind].held.values()].toSorted();
  }

  howToRelease(kind: RemovalKind): string {
    return this.#store.howToRelease(kind);
  }

  /**
   * Whether an operator released this id: it may be removed despite the limit, and counts neither as a candidate nor as a
   * removal.
   */
  isReleased(kind: RemovalKind, id: string): boolean {
    return this.#fresh(kind).released.has(id);
  }

  /** Ends the release of an object that exists again or was recreated. The release does not apply to a later absence. */
  endRelease(kind: RemovalKind, id: string): void {
    this.#memories[kind].released.delete(id);
  }

  /**
   * Calls the listener when held ids were released, or when the doubt about the account changed. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: (kind: RemovalKind) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Releases the currently held objects until `endRelease`, at most for the window. Returns their names. */
  release(kind: RemovalKind): readonly string[] {
    const { held, released } = this.#fresh(kind);
    const names = [...held.values()].toSorted();
    for (const id of held.keys()) {
      released.delete(id);
      released.set(id, this.#clock.monotonic());
    }
    held.clear();
    if (names.length === 0) return names;
    this.account.vouch();
    this.#notify(kind);
    return names;
  }

  #notify(kind: RemovalKind): void {
    for (const listener of this.#listeners) listener(kind);
  }

  /** The data to store for these kinds. */
  removals(kinds: readonly RemovalKind[]): readonly StoredRemoval[] {
    const now = this.#clock.monotonic();
    return kinds.flatMap((kind) =>
      [...this.#fresh(kind).removals].map(([id, { at }]) => ({ kind, id, age: now - at })),
    );
  }

  /**
   * Adds stored removals. Known removals keep their time, unless another process stored them, because that process may have
   * repeated them. Otherwise this process's own data would come back rounded up and never expire.
   */
  load(stored: readonly StoredRemoval[], by: "this process" | "another"): void {
    const now = this.#clock.monotonic();
    for (const kind of removalKinds) {
      const { removals } = this.#fresh(kind);
      const isNews = ({ id, age }: StoredRemoval): boolean => {
        const known = removals.get(id);
        return known === undefined || (by === "another" && now - age > known.at);
      };
      const added = stored.filter((one) => one.kind === kind && one.age < removalWindow && isNews(one));
      if (added.length === 0) continue;
      for (const { id, age } of added) {
        const isOwn = removals.get(id)?.isOwn ?? false;
        removals.set(id, { at: now - age, isOwn, isStored: true });
      }
      const ordered = [...removals].toSorted(([, one], [, other]) => one.at - other.at);
      removals.clear();
      for (const [id, removal] of ordered.slice(-maxRemovals)) removals.set(id, removal);
    }
  }

  /** The removals from `removals` were stored, except for the omitted ones. */
  stored(removals: readonly StoredRemoval[], omitted: readonly StoredRemoval[] = []): void {
    for (const { kind, id } of removals) this.#markStored(kind, id);
    for (const { kind, id } of omitted) {
      const removal = this.#memories[kind].removals.get(id);
      if (removal !== undefined) Object.assign(removal, { isStored: false, isOmitted: true });
    }
  }

  #markStored(kind: RemovalKind, id: string): void {
    const removal = this.#memories[kind].removals.get(id);
    if (removal !== undefined) Object.assign(removal, { isStored: true, isOmitted: false });
  }

  #add(kind: RemovalKind, shortIds: readonly string[]): void {
    const at = this.#clock.monotonic();
    const { removals } = this.#memories[kind];
    for (const id of shortIds) {
      removals.delete(id);
      removals.set(id, { at, isOwn: true, isStored: false });
    }
  }

  #fresh(kind: RemovalKind): Memory {
    const memory = this.#memories[kind];
    const since = this.#clock.monotonic() - removalWindow;
    for (const times of [memory.removals, memory.released]) {
      for (const [id, entry] of times) {
        if ((typeof entry === "number" ? entry : entry.at) >= since) break;
        times.delete(id);
      }
    }
    return memory;
  }
}

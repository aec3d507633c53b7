// Which Service belongs to which balancer group, and whom each group must let go of, because a Service went or moved away
// and may have left something in the cloud. It remembers keys and uids only; the objects are in the store.

import type { ServiceUID } from "../../../core/brand.ts";

interface Place {
  readonly uid: ServiceUID;
  readonly group: string;
}

export class Groups {
  readonly #places = new Map<string, Place>();
  readonly #members = new Map<string, Set<string>>();
  readonly #debts = new Map<string, Set<ServiceUID>>();

  /** All groups that have a member or a debt. */
  get all(): ReadonlySet<string> {
    return new Set([...this.#members.keys(), ...this.#debts.keys()]);
  }

  /** Where this very Service is, not another one of its name. */
  groupOf(key: string, uid: ServiceUID): string | undefined {
    const place = this.#places.get(key);
    return place?.uid === uid ? place.group : undefined;
  }

  /** All that are placed, by key. */
  get placed(): readonly (readonly [string, ServiceUID])[] {
    return [...this.#places].map(([key, { uid }]) => [key, uid] as const);
  }

  membersOf(group: string): readonly string[] {
    return [...(this.#members.get(group) ?? [])];
  }

  /** Owners that this group must let go of: their Services are gone, or have moved away. */
  debtsOf(group: string): readonly ServiceUID[] {
    return [...(this.#debts.get(group) ?? [])];
  }

  /** Returns the groups that must be looked at: the one it is in now, and the one it left. */
  place(key: string, uid: ServiceUID, group: string): readonly string[] {
    const before = this.#places.get(key);
    if (before?.uid === uid && before.group === group) return [group];
    const left = before === undefined ? [] : this.#leave(key, before);
    // The same Service in another group: its old group must let go of it.
    this.#places.set(key, { uid, group });
    // Back before its debt was paid: it is a member, and none that is gone.
    this.settle(group, [uid]);
    this.#members.set(group, (this.#members.get(group) ?? new Set()).add(key));
    return [...left, group];
  }

  /** The Service is gone from the API server. */
  remove(key: string): readonly string[] {
    const before = this.#places.get(key);
    return before === undefined ? [] : this.#leave(key, before);
  }

  /** It asks for nothing and has nothing any more, although it exists. */
  dismiss(key: string): void {
    const before = this.#places.get(key);
    if (before === undefined) return;
    this.#leave(key, before);
    this.settle(before.group, [before.uid]);
  }

  /** Nothing of theirs is left in the cloud; whoever left meanwhile is still owed. */
  settle(group: string, paid: readonly ServiceUID[]): void {
    const gone = this.#debts.get(group);
    for (const uid of paid) gone?.delete(uid);
    if (gone?.size === 0) this.#debts.delete(group);
  }

  /** Something of this owner is in a group where it does not belong. */
  owe(group: string, uid: ServiceUID): void {
    this.#debts.set(group, (this.#debts.get(group) ?? new Set<ServiceUID>()).add(uid));
  }

  owes(group: string, uid: ServiceUID): boolean {
    return this.#debts.get(group)?.has(uid) === true;
  }

  owesElsewhere(uid: ServiceUID, group: string): boolean {
    return [...this.#debts].some(([each, gone]) => each !== group && gone.has(uid));
  }

  #leave(key: string, { uid, group }: Place): readonly string[] {
    this.#places.delete(key);
    const members = this.#members.get(group);
    members?.delete(key);
    if (members?.size === 0) this.#members.delete(group);
    this.owe(group, uid);
    return [group];
  }
}

// Two groups that have an owner in common, because a Service moves from one to the other or the cloud shows it in both, are
// never worked on at once: whoever comes second is told to come back, and is called when the first is done.

export class Turns {
  /** By uid: the group that works on it. */
  readonly #holders = new Map<string, string>();
  readonly #held = new Map<string, Set<string>>();
  /** By the group that is in the way. */
  readonly #waiting = new Map<string, Set<string>>();

  /** False: somebody else works on one of them. May be called again for more owners; `leave` follows in any case. */
  enter(group: string, owners: Iterable<string>): boolean {
    const wanted = [...owners];
    for (const owner of wanted) {
      const holder = this.#holders.get(owner);
      if (holder === undefined || holder === group) continue;
      this.#waiting.set(holder, (this.#waiting.get(holder) ?? new Set()).add(group));
      return false;
    }
    const held = this.#held.get(group) ?? new Set<string>();
    for (const owner of wanted) {
      this.#holders.set(owner, group);
      held.add(owner);
    }
    this.#held.set(group, held);
    return true;
  }

  /** Returns the groups that waited for this one. */
  leave(group: string): readonly string[] {
    for (const owner of this.#held.get(group) ?? []) this.#holders.delete(owner);
    this.#held.delete(group);
    const waiting = [...(this.#waiting.get(group) ?? [])];
    this.#waiting.delete(group);
    return waiting;
  }
}

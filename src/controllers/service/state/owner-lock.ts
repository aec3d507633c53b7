// Prevents groups with a common owner from being reconciled at the same time. A Service belongs to two groups while it moves, and
// the cloud may show it in both. The second group is enqueued again when the first is done.

interface Lock {
  readonly owners: Set<string>;
  /** Groups to enqueue when the lock is released. */
  readonly waiting: Set<string>;
}

export class OwnerLock {
  /** By group, only while it is reconciled. */
  readonly #locks = new Map<string, Lock>();

  /**
   * Returns false when another group holds one of the owners. May be called again for more owners. If the first call returned
   * true, `release` must follow.
   */
  acquire(group: string, owners: Iterable<string>): boolean {
    const wanted = [...owners];
    for (const [holder, lock] of this.#locks) {
      if (holder === group || !wanted.some((owner) => lock.owners.has(owner))) continue;
      lock.waiting.add(group);
      return false;
    }
    const lock = this.#locks.get(group) ?? { owners: new Set(), waiting: new Set() };
    for (const owner of wanted) lock.owners.add(owner);
    this.#locks.set(group, lock);
    return true;
  }

  /** Returns the groups that waited for this one. */
  release(group: string): readonly string[] {
    const waiting = [...(this.#locks.get(group)?.waiting ?? [])];
    this.#locks.delete(group);
    return waiting;
  }
}

// What was said last about each subject, so that the same thing is not said again while it stays true, and is news again
// when it comes back.

export class ReportDeduplicator {
  readonly #reported = new Map<string, ReadonlySet<string>>();

  /** Of whom something was said that still holds. */
  get subjects(): Iterable<string> {
    return this.#reported.keys();
  }

  /** What holds of each. */
  get all(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#reported;
  }

  /** Those that were not said the last time. */
  news<T extends { readonly text: string }>(subject: string, said: readonly T[]): readonly T[] {
    const before = this.#reported.get(subject);
    if (said.length === 0) this.#reported.delete(subject);
    else this.#reported.set(subject, new Set(said.map(({ text }) => text)));
    const fresh = new Map<string, T>();
    for (const each of said) if (before?.has(each.text) !== true) fresh.set(each.text, each);
    return [...fresh.values()];
  }

  forget(subject: string): void {
    this.#reported.delete(subject);
  }

  forgetAllBut(subjects: ReadonlySet<string>): void {
    for (const subject of this.#reported.keys()) if (!subjects.has(subject)) this.#reported.delete(subject);
  }
}

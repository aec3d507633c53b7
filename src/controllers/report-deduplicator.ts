// Remembers the last reports about each subject, so that a problem is reported once while it lasts, and again when it returns.

export class ReportDeduplicator {
  readonly #reported = new Map<string, ReadonlySet<string>>();

  /** Subjects with an active report. */
  get subjects(): Iterable<string> {
    return this.#reported.keys();
  }

  /** The active reports of each subject. */
  get all(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#reported;
  }

  /** Replaces the subject's reports, and returns those that are new. */
  news<T extends { readonly text: string }>(subject: string, reports: readonly T[]): readonly T[] {
    const before = this.#reported.get(subject);
    if (reports.length === 0) this.#reported.delete(subject);
    else this.#reported.set(subject, new Set(reports.map(({ text }) => text)));
    const fresh = new Map<string, T>();
    for (const report of reports) if (before?.has(report.text) !== true) fresh.set(report.text, report);
    return [...fresh.values()];
  }

  forget(subject: string): void {
    this.#reported.delete(subject);
  }

  forgetAllBut(subjects: ReadonlySet<string>): void {
    for (const subject of this.#reported.keys()) if (!subjects.has(subject)) this.#reported.delete(subject);
  }
}

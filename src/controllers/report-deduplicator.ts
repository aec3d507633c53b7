// Remembers the last reports about each subject, so that a problem is reported once while it lasts, and again when it returns.

export interface Report {
  readonly text: string;
  /** For a text that may change, such as a remaining time, without being news. Absent: the text. */
  readonly identity?: string;
}

const identityOf = ({ text, identity }: Report): string => identity ?? text;

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
  news<T extends Report>(subject: string, reports: readonly T[]): readonly T[] {
    const before = this.#reported.get(subject);
    if (reports.length === 0) this.#reported.delete(subject);
    else this.#reported.set(subject, new Set(reports.map(identityOf)));
    const fresh = new Map<string, T>();
    for (const report of reports) {
      const identity = identityOf(report);
      if (before?.has(identity) !== true) fresh.set(identity, report);
    }
    return [...fresh.values()];
  }

  forget(subject: string): void {
    this.#reported.delete(subject);
  }

  forgetAllBut(subjects: ReadonlySet<string>): void {
    for (const subject of this.#reported.keys()) if (!subjects.has(subject)) this.#reported.delete(subject);
  }
}

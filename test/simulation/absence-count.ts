// Counts objects of one kind that were removed or created again because something was absent, and reports when more than
// the mass limit were affected within 10 minutes.

import type { Clock } from "../../src/platform/clock.ts";

const window = 600_000;
const atLeast = 2;
const share = 0.2;

export class AbsenceCount {
  readonly #what: string;
  readonly #clock: Clock;
  readonly #report: (text: string) => void;
  #countsFrom = 0;
  #counted: { readonly at: number; readonly id: string; readonly text: string }[] = [];
  #existing: { readonly at: number; readonly count: number }[] = [];

  constructor(what: string, clock: Clock, report: (text: string) => void) {
    this.#what = what;
    this.#clock = clock;
    this.#report = report;
  }

  /** Records the number of existing objects: the limit is a share of the largest number in the last 10 minutes. */
  observe(count: number): void {
    const now = this.#clock.monotonic();
    if (this.#existing.at(-1)?.count === count) return;
    this.#existing = [...this.#existing.filter(({ at }) => at > now - window), { at: now, count }];
  }

  /** Counts an object; the same object counts once. */
  add(id: string, text: string): void {
    const now = this.#clock.monotonic();
    if (now < this.#countsFrom) return;
    this.#counted = [
      ...this.#counted.filter((each) => each.at > now - window && each.id !== id),
      { at: now, id, text },
    ];
    const existing = Math.max(0, ...this.#existing.map(({ count }) => count)) + this.#counted.length;
    const allowed = Math.max(atLeast, Math.floor(existing * share));
    if (this.#counted.length <= allowed) return;
    const texts = this.#counted.map((each) => each.text).join(", ");
    this.#report(
      `${this.#counted.length} ${this.#what} in 10 min, ${allowed} of ${existing} are allowed: ${texts}`,
    );
  }

  /** Records that an operator released the objects that the limit holds: their removals may still follow. */
  released(): void {
    this.#countsFrom = this.#clock.monotonic() + window;
  }
}

// Counts many objects by label. During a hold, every absent object needs a verdict, so the cost of a count is proportional to the
// changes since the last one.

import type { Clock } from "../../platform/clock.ts";

export interface TallyOptions<Label extends string> {
  readonly clock: Clock;
  readonly keys: () => Iterable<string>;
  /** Undefined for an object that does not count. */
  readonly labelOf: (key: string) => Label | undefined;
}

/** Older counts are recomputed, because a label may change without notice. */
const maxAge = 1000;

export class Tally<Label extends string> {
  readonly #options: TallyOptions<Label>;
  readonly #labels = new Map<string, Label>();
  readonly #counts = new Map<Label, number>();
  /** The last example of each label. */
  readonly #examples = new Map<Label, string>();
  /** Changed keys, which must be counted again. */
  readonly #changed = new Set<string>();
  /** When all objects were counted; undefined if they must be counted again. */
  #countedAt: number | undefined;

  constructor(options: TallyOptions<Label>) {
    this.#options = options;
  }

  /** Counts all objects again, as after a listing. */
  invalidate(): void {
    this.#countedAt = undefined;
    this.#changed.clear();
  }

  /** Called when the object, or the knowledge about it, may have changed. */
  noteChange(key: string): void {
    if (this.#isOutdated) this.invalidate();
    else this.#changed.add(key);
  }

  count(label: Label): number {
    const { clock, keys } = this.#options;
    if (this.#isOutdated) {
      this.#labels.clear();
      this.#counts.clear();
      for (const key of keys()) this.#label(key);
      this.#countedAt = clock.monotonic();
    } else for (const key of this.#changed) this.#label(key);
    this.#changed.clear();
    return this.#counts.get(label) ?? 0;
  }

  /** The key of one object with this label. */
  example(label: Label): string | undefined {
    if (this.count(label) === 0) return undefined;
    const before = this.#examples.get(label);
    if (before !== undefined && this.#labels.get(before) === label) return before;
    const found = this.#labels.entries().find(([, one]) => one === label)?.[0];
    if (found !== undefined) this.#examples.set(label, found);
    return found;
  }

  get #isOutdated(): boolean {
    return this.#countedAt === undefined || this.#options.clock.monotonic() - this.#countedAt > maxAge;
  }

  #label(key: string): void {
    const before = this.#labels.get(key);
    const after = this.#options.labelOf(key);
    if (before === after) return;
    if (before !== undefined) this.#counts.set(before, (this.#counts.get(before) ?? 0) - 1);
    if (after === undefined) this.#labels.delete(key);
    else {
      this.#labels.set(key, after);
      this.#counts.set(after, (this.#counts.get(after) ?? 0) + 1);
    }
  }
}

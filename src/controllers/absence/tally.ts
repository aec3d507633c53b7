// Sums what many objects add to the counts of a mass limit. During a hold every absent object needs a decision, so a decision costs as much
// as what has changed since the last one.

import type { Clock } from "../../platform/clock.ts";

/** What one object adds to each sum. */
export type Share<Name extends string> = Readonly<Record<Name, number>>;

export interface TallyOptions<Name extends string> {
  readonly clock: Clock;
  readonly zero: Share<Name>;
  readonly keys: () => Iterable<string>;
  /** Undefined for an object that is gone. */
  readonly shareOf: (key: string) => Share<Name> | undefined;
}

/** Sums that are older are counted again: what an object adds may change without notice. */
const maxAge = 1000;

export class Tally<Name extends string> {
  readonly #options: TallyOptions<Name>;
  readonly #shares = new Map<string, Share<Name>>();
  /** To count again at the next decision. */
  readonly #changed = new Set<string>();
  #sums: Record<Name, number>;
  /** When all objects were counted; undefined when they must be counted again. */
  #countedAt: number | undefined;

  constructor(options: TallyOptions<Name>) {
    this.#options = options;
    this.#sums = { ...options.zero };
  }

  /** All objects are counted again at the next decision, as after a listing. */
  invalidate(): void {
    this.#countedAt = undefined;
    this.#changed.clear();
  }

  /** The object, or what is known about it, may have changed. */
  noteChange(key: string): void {
    if (this.#isOutdated) this.invalidate();
    else this.#changed.add(key);
  }

  get sums(): Share<Name> {
    const { clock, zero, keys } = this.#options;
    if (this.#isOutdated) {
      this.#shares.clear();
      this.#sums = { ...zero };
      for (const key of keys()) this.#count(key);
      this.#countedAt = clock.monotonic();
    } else for (const key of this.#changed) this.#count(key);
    this.#changed.clear();
    return this.#sums;
  }

  get #isOutdated(): boolean {
    return this.#countedAt === undefined || this.#options.clock.monotonic() - this.#countedAt > maxAge;
  }

  #count(key: string): void {
    const { zero, shareOf } = this.#options;
    const before = this.#shares.get(key) ?? zero;
    const after = shareOf(key);
    if (after === undefined) this.#shares.delete(key);
    else this.#shares.set(key, after);
    for (const name of Object.keys(zero) as Name[]) this.#sums[name] += (after ?? zero)[name] - before[name];
  }
}

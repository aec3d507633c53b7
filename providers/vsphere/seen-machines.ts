// The machines that a vCenter has shown while this connection lasts. vCenter reports by reference whether they still exist.

import type { Reference } from "./api/vim.ts";
import { canonical } from "./uuids.ts";

/** A vCenter has at most 45,000 machines. The other remembered machines have been removed. */
const maxSeen = 100_000;

/** The machines with the same UUID: copies, and a machine that was registered again. */
const maxReferences = 4;

interface Seen {
  readonly uuid: string;
  /** The last one is the newest. */
  readonly refs: readonly Reference[];
}

export class SeenMachines {
  /** By key. The first one was shown the longest time ago. */
  readonly #seen = new Map<string, Seen>();
  /** The keys that machines had, by the value of their reference. */
  readonly keys = new Map<string, string>();
  readonly #max: number;

  constructor(max = maxSeen) {
    this.#max = max;
  }

  uuidOf(key: string): string | undefined {
    return this.#seen.get(key)?.uuid;
  }

  /** All machines that had this key. */
  referencesOf(key: string): readonly Reference[] {
    return this.#seen.get(key)?.refs ?? [];
  }

  add(ref: Reference, uuid: string): void {
    const key = canonical(uuid);
    const others = this.referencesOf(key).filter(({ value }) => value !== ref.value);
    for (const { value } of others.slice(0, 1 - maxReferences)) this.#forgetKey(value, key);
    this.#seen.delete(key);
    this.#seen.set(key, { uuid, refs: [...others.slice(1 - maxReferences), ref] });
    this.keys.set(ref.value, key);
    if (this.#seen.size <= this.#max) return;
    const [[oldest, { refs }] = ["", { refs: [] }]] = this.#seen;
    this.#seen.delete(oldest);
    for (const { value } of refs) this.#forgetKey(value, oldest);
  }

  /** A reference may have another key by now. */
  #forgetKey(value: string, key: string): void {
    if (this.keys.get(value) === key) this.keys.delete(value);
  }
}

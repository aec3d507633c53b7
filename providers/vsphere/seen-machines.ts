// The machines that a vCenter has shown while this connection lasts. By their references, vCenter says whether they still exist.

import type { Reference } from "./api/vim.ts";
import { canonical } from "./uuids.ts";

/** A vCenter has at most 45,000 machines. The others that are remembered have been removed. */
const maxSeen = 100_000;

interface Seen {
  readonly ref: Reference;
  readonly uuid: string;
  readonly key: string;
}

export class SeenMachines {
  /** By reference and key: a machine may get another UUID. The first one was shown the longest time ago. */
  readonly #seen = new Map<string, Seen>();
  readonly #max: number;

  constructor(max = maxSeen) {
    this.#max = max;
  }

  add(ref: Reference, uuid: string): void {
    const key = canonical(uuid);
    const id = `${ref.value} ${key}`;
    this.#seen.delete(id);
    this.#seen.set(id, { ref, uuid, key });
    const [oldest = ""] = this.#seen.keys();
    if (this.#seen.size > this.#max) this.#seen.delete(oldest);
  }

  /** All machines that had this key: copies, and a machine that was registered again. The last one was shown last. */
  withKey(key: string): readonly Seen[] {
    return [...this.#seen.values()].filter((one) => one.key === key);
  }

  /** The last key of each machine, by the value of its reference. */
  get keys(): ReadonlyMap<string, string> {
    return new Map([...this.#seen.values()].map(({ ref, key }) => [ref.value, key]));
  }
}

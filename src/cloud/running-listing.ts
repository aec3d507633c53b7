// The machines of a listing that is still running, by name. A machine on a page exists; that another one does not exist, only the
// complete listing can show.

import type { Instance } from "../provider/instances.ts";
import type { KeyAnswer } from "./instance-index.ts";

export class RunningListing {
  readonly #byName = new Map<string, Instance>();
  /** Names of several machines: only the complete listing decides. */
  readonly #ambiguous = new Set<string>();
  #beganAt = 0;

  add(page: readonly Instance[], beganAt: number): void {
    this.#beganAt = beganAt;
    for (const instance of page) {
      for (const name of instance.names) {
        const known = this.#byName.get(name);
        if (known !== undefined && known.key !== instance.key) this.#ambiguous.add(name);
        this.#byName.set(name, instance);
      }
    }
  }

  /** The listing is complete, or has failed. */
  clear(): void {
    this.#byName.clear();
    this.#ambiguous.clear();
  }

  find(name: string): KeyAnswer | undefined {
    const instance = this.#ambiguous.has(name) ? undefined : this.#byName.get(name);
    return instance && { instances: [instance], asOf: this.#beganAt, proof: "listing" };
  }
}

// Remembers names that Nodes had before. An instance observed under such a name may be the predecessor's, and a provider id is
// never changed once written, so only observations since the current Node was created count.

import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { NodeStore } from "../node-deps.ts";

const keepFor: Milliseconds = minutes(60);

export class UsedNames {
  readonly #clock: Clock;
  /** When the last Node of that name was deleted, and when its successor was created. */
  readonly #names = new Map<string, { readonly freedAt: number; readonly takenAt?: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Follows the Nodes for the life of the process. `onFreed` is called with every name whose Node was deleted or replaced. */
  follow(nodes: NodeStore, onFreed: (name: string) => void): void {
    nodes.subscribe(({ key, before, after }) => {
      if (before?.metadata.uid === after?.metadata.uid) return;
      const now = this.#clock.monotonic();
      if (before !== undefined) {
        this.#names.set(key, { freedAt: now });
        for (const [name, { freedAt }] of this.#names) {
          if (freedAt >= now - keepFor) break;
          this.#names.delete(name);
        }
        onFreed(key);
      }
      const freed = this.#names.get(key);
      if (after !== undefined && freed !== undefined) {
        this.#names.set(key, { freedAt: freed.freedAt, takenAt: now });
      }
    });
  }

  /** The time from which an instance observed under this name belongs to the current Node. */
  countsFrom(name: string): number {
    return this.#names.get(name)?.takenAt ?? Number.NEGATIVE_INFINITY;
  }
}

// Names that Nodes had before. A machine seen under such a name may be the predecessor's, and a provider id is written
// once and for ever: for the successor only what was seen since it came counts.

import type { Clock } from "../../platform/clock.ts";
import type { NodeStore } from "../node-deps.ts";

const remembered = 3_600_000;

export class UsedNames {
  readonly #clock: Clock;
  /** When the last Node of that name went, and when its successor came. */
  readonly #names = new Map<string, { readonly freedAt: number; readonly takenAt?: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Follows the Nodes for good; calls back with every name whose Node became another one or none. */
  follow(nodes: NodeStore, onFreed: (name: string) => void): void {
    nodes.subscribe(({ key, before, after }) => {
      if (before?.metadata.uid === after?.metadata.uid) return;
      const now = this.#clock.monotonic();
      if (before !== undefined) {
        this.#names.set(key, { freedAt: now });
        for (const [name, { freedAt }] of this.#names) {
          if (freedAt >= now - remembered) break;
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

  /** The moment from which a machine seen under this name is the present Node's. */
  countsFrom(name: string): number {
    return this.#names.get(name)?.takenAt ?? Number.NEGATIVE_INFINITY;
  }
}

// The names that Nodes had, or may have had, earlier. An instance observed under such a name may belong to the former Node. A
// provider id never changes once written, so older observations do not count.

import type { Inventory } from "../../cloud/inventory/instances.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { NodeStore } from "../node-deps.ts";

const keepFor: Milliseconds = minutes(60);
/** No machine can be replaced, boot and join in less time. */
const fastestReplacement: Milliseconds = seconds(20);

interface UsedName {
  readonly freedAt: number;
  /** The maximum age of an observation when the next Node with the name is seen. */
  readonly countsBefore: Milliseconds;
  readonly takenAt?: number;
}

export class UsedNames {
  readonly #clock: Clock;
  readonly #names = new Map<string, UsedName>();
  /** The names of the sources that this process has listed completely. */
  readonly #listed = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Follows the Nodes for the life of the process. */
  follow(nodes: NodeStore): void {
    nodes.subscribe(({ key, before, after, isFromList }) => {
      if (before?.metadata.uid === after?.metadata.uid) return;
      const now = this.#clock.monotonic();
      if (before !== undefined) this.#free(key, milliseconds(0));
      else if (isFromList === true && this.#listed.size > 0)
        // While the watch was interrupted, a Node may have come and gone whose machine was listed in the meantime.
        this.#free(key, fastestReplacement);
      const freed = this.#names.get(key);
      if (after !== undefined && freed !== undefined) {
        this.#names.set(key, { ...freed, takenAt: now });
      }
    });
  }

  /** The time from which an instance that is observed under this name belongs to the current Node. */
  countsFrom(name: string): number {
    const { takenAt = Number.NEGATIVE_INFINITY, countsBefore = 0 } = this.#names.get(name) ?? {};
    return takenAt - countsBefore;
  }

  /**
   * Follows the listings of a session. A machine without a Node in the first listing may have had a Node that was deleted before
   * this process started. A machine that first appears in a later listing has had no Node whose deletion this process missed.
   * Returns a function that stops this.
   */
  followListings(nodes: NodeStore, inventory: Inventory): () => void {
    return inventory.subscribe(() => {
      for (const { source, latest } of inventory.sources) {
        if (latest === undefined || this.#listed.has(source.name)) continue;
        this.#listed.add(source.name);
        const names = latest.items.flatMap((instance) => instance.names);
        for (const name of names) if (nodes.get(name) === undefined) this.#free(name, fastestReplacement);
      }
    });
  }

  #free(name: string, countsBefore: Milliseconds): void {
    const now = this.#clock.monotonic();
    this.#names.delete(name);
    this.#names.set(name, { freedAt: now, countsBefore });
    for (const [old, { freedAt }] of this.#names) {
      if (freedAt >= now - keepFor) break;
      this.#names.delete(old);
    }
  }
}

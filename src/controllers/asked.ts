// Questions under way: which keys wait for news from the inventory, and since when. Keeps a key from asking twice.

import type { NodeIdentity } from "../cloud/identity.ts";
import type { Inventory } from "../cloud/inventory.ts";
import type { Want } from "../cloud/source-inventory.ts";
import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../seams/clock.ts";

export class Asked {
  readonly #inventory: Inventory;
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();

  constructor(inventory: Inventory, clock: Clock) {
    this.#inventory = inventory;
    this.#clock = clock;
  }

  get keys(): Iterable<string> {
    return this.#since.keys();
  }

  /** Whether an answer as old as this one answers what the key asked. */
  isAnsweredBy(key: string, asOf: number): boolean {
    const since = this.#since.get(key);
    return since !== undefined && asOf >= since;
  }

  /** Asks, unless the question is under way; a machine seen this short a time ago will do. Throws what went wrong with it; then it counts as not asked. */
  ask(
    key: string,
    identity: NodeIdentity,
    want: Omit<Want, "since" | "foundSince">,
    acceptsAge?: Milliseconds,
  ): void {
    const since = this.#since.get(key);
    if (since === undefined) {
      const now = this.#clock.monotonic();
      this.#since.set(key, now);
      const foundSince = acceptsAge === undefined ? {} : { foundSince: now - acceptsAge };
      this.#inventory.want(identity, { ...want, ...foundSince, since: now });
      return;
    }
    const failure = this.#inventory.failureFor(identity);
    if (failure === undefined || failure.at < since) return;
    this.#since.delete(key);
    throw failure.error;
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}

// Questions under way: which keys wait for news from the inventory, and since when. Keeps a key from asking twice.

import type { NodeIdentity } from "../cloud/identity.ts";
import type { Inventory } from "../cloud/inventory.ts";
import type { Want } from "../cloud/plan-questions.ts";
import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

interface PlanInput {
  readonly since: number;
  /** A machine that was seen then was answer enough. */
  readonly foundSince: number;
  readonly about: string;
}

export class PendingLookups {
  readonly #inventory: Inventory;
  readonly #clock: Clock;
  readonly #pending = new Map<string, PlanInput>();

  constructor(inventory: Inventory, clock: Clock) {
    this.#inventory = inventory;
    this.#clock = clock;
  }

  get keys(): Iterable<string> {
    return this.#pending.keys();
  }

  has(key: string): boolean {
    return this.#pending.has(key);
  }

  /** Whether an answer as old as this one answers what the key asked. */
  isAnsweredBy(key: string, asOf: number): boolean {
    const input = this.#pending.get(key);
    return input !== undefined && asOf >= input.since;
  }

  /**
   * Whether a machine seen then was answer enough when the key asked: nothing newer comes of that question. Who looks at
   * the answer so late that it no longer is enough must ask anew.
   */
  isUsedUpBy(key: string, asOf: number): boolean {
    const input = this.#pending.get(key);
    return input !== undefined && asOf >= input.foundSince;
  }

  /** Asks, unless the question is under way; a machine seen this short a time ago will do. Throws what went wrong with it; then it counts as not asked. */
  ask(
    key: string,
    identity: NodeIdentity,
    want: Omit<Want, "since" | "foundSince">,
    acceptsAge?: Milliseconds,
  ): void {
    const input = this.#pending.get(key);
    const about = JSON.stringify(identity);
    // A Node that got its id or its UUID meanwhile is another question: the answer to the first one may not hold it.
    if (input === undefined || input.about !== about) {
      const now = this.#clock.monotonic();
      const foundSince = acceptsAge === undefined ? undefined : now - acceptsAge;
      this.#pending.set(key, { since: now, foundSince: foundSince ?? now, about });
      this.#inventory.want(identity, {
        ...want,
        ...(foundSince !== undefined && { foundSince }),
        since: now,
      });
      return;
    }
    const failure = this.#inventory.failureFor(identity);
    if (failure === undefined || failure.at < input.since) return;
    this.#pending.delete(key);
    throw failure.error;
  }

  forget(key: string): void {
    this.#pending.delete(key);
  }
}

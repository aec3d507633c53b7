// Questions under way: which keys wait for news from the inventory, and since when. Keeps a key from asking twice.

import type { NodeIdentity } from "../cloud/identity.ts";
import type { Inventory } from "../cloud/inventory.ts";
import type { Want } from "../cloud/plan-questions.ts";
import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

interface Question {
  readonly since: number;
  /** A machine that was seen then was answer enough. */
  readonly foundSince: number;
  readonly about: string;
}

export class Questions {
  readonly #inventory: Inventory;
  readonly #clock: Clock;
  readonly #questions = new Map<string, Question>();

  constructor(inventory: Inventory, clock: Clock) {
    this.#inventory = inventory;
    this.#clock = clock;
  }

  get keys(): Iterable<string> {
    return this.#questions.keys();
  }

  has(key: string): boolean {
    return this.#questions.has(key);
  }

  /** Whether an answer as old as this one answers what the key asked. */
  isAnsweredBy(key: string, asOf: number): boolean {
    const question = this.#questions.get(key);
    return question !== undefined && asOf >= question.since;
  }

  /**
   * Whether a machine seen then was answer enough when the key asked: nothing newer comes of that question. Who looks at
   * the answer so late that it no longer is enough must ask anew.
   */
  isUsedUpBy(key: string, asOf: number): boolean {
    const question = this.#questions.get(key);
    return question !== undefined && asOf >= question.foundSince;
  }

  /** Asks, unless the question is under way; a machine seen this short a time ago will do. Throws what went wrong with it; then it counts as not asked. */
  ask(
    key: string,
    identity: NodeIdentity,
    want: Omit<Want, "since" | "foundSince">,
    acceptsAge?: Milliseconds,
  ): void {
    const question = this.#questions.get(key);
    const about = JSON.stringify(identity);
    // A Node that got its id or its UUID meanwhile is another question: the answer to the first one may not hold it.
    if (question === undefined || question.about !== about) {
      const now = this.#clock.monotonic();
      const foundSince = acceptsAge === undefined ? undefined : now - acceptsAge;
      this.#questions.set(key, { since: now, foundSince: foundSince ?? now, about });
      this.#inventory.want(identity, {
        ...want,
        ...(foundSince !== undefined && { foundSince }),
        since: now,
      });
      return;
    }
    const failure = this.#inventory.failureFor(identity);
    if (failure === undefined || failure.at < question.since) return;
    this.#questions.delete(key);
    throw failure.error;
  }

  forget(key: string): void {
    this.#questions.delete(key);
  }
}

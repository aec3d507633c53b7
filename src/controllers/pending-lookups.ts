// Lookups that the inventory has not answered yet: the waiting keys, and since when they wait. Prevents duplicate lookups.

import type { Answer, Inventory } from "../cloud/inventory/instances.ts";
import type { NodeIdentity } from "../cloud/inventory/node-identity.ts";
import type { QueryOptions } from "../cloud/inventory/plan-queries.ts";
import type { SourceFailure } from "../cloud/inventory/source-inventory.ts";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import type { Clock } from "../platform/clock.ts";

interface Lookup {
  readonly since: number;
  /** An instance that was observed at or after this time is sufficient. */
  readonly foundSince: number;
  /** The identity being looked up, as text. */
  readonly about: string;
}

/** The end of a lookup. Without an answer, the request failed. */
export interface EndedLookup {
  readonly answer: Answer | undefined;
  readonly duration: Milliseconds;
}

export class PendingLookups {
  readonly #inventory: Inventory;
  readonly #clock: Clock;
  readonly #lookups = new Map<string, Lookup>();
  readonly #onEnd: ((lookup: EndedLookup) => void) | undefined;

  /** `onEnd` is not called for lookups that are forgotten. */
  constructor(inventory: Inventory, clock: Clock, onEnd?: (lookup: EndedLookup) => void) {
    this.#inventory = inventory;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get keys(): Iterable<string> {
    return this.#lookups.keys();
  }

  has(key: string): boolean {
    return this.#lookups.has(key);
  }

  /** Whether an answer of this age is newer than the key's lookup. */
  isAnsweredBy(key: string, asOf: number): boolean {
    const lookup = this.#lookups.get(key);
    return lookup !== undefined && asOf >= lookup.since;
  }

  /**
   * Whether an instance that was observed at this moment completed the key's lookup, so that no newer answer will come. A key
   * that reads the answer too late must look it up again.
   */
  isUsedUpBy(key: string, asOf: number): boolean {
    const lookup = this.#lookups.get(key);
    return lookup !== undefined && asOf >= lookup.foundSince;
  }

  /**
   * Asks the inventory, unless this lookup is already pending. An instance observed within `maxAge` is sufficient. Throws the
   * error of a failed lookup; the next call retries.
   */
  ask(
    key: string,
    identity: NodeIdentity,
    request: Omit<QueryOptions, "since" | "foundSince">,
    maxAge?: Milliseconds,
  ): void {
    const lookup = this.#lookups.get(key);
    const about = JSON.stringify(identity);
    // A Node that has since got its provider id or UUID needs another lookup, because the first one may not find it.
    if (lookup === undefined || lookup.about !== about) {
      const now = this.#clock.monotonic();
      const foundSince = maxAge === undefined ? undefined : now - maxAge;
      this.#lookups.set(key, { since: now, foundSince: foundSince ?? now, about });
      this.#inventory.request(identity, { ...request, ...defined({ foundSince }), since: now });
      return;
    }
    const failure = this.#failureOf(lookup, identity);
    if (failure === undefined) return;
    this.end(key, undefined);
    throw failure.error;
  }

  /**
   * Forgets a failed lookup while its key waits for something else, so that the lookup is repeated later. The inventory remembers
   * the failure only until another request succeeds.
   */
  forgetFailed(key: string, identity: NodeIdentity): void {
    const lookup = this.#lookups.get(key);
    if (lookup !== undefined && this.#failureOf(lookup, identity) !== undefined) this.end(key, undefined);
  }

  #failureOf({ since }: Lookup, identity: NodeIdentity): SourceFailure | undefined {
    const failure = this.#inventory.failureFor(identity);
    return failure === undefined || failure.at < since ? undefined : failure;
  }

  /** Ends the key's lookup with this answer, or as failed. */
  end(key: string, answer: Answer | undefined): void {
    const lookup = this.#lookups.get(key);
    if (lookup === undefined) return;
    this.#lookups.delete(key);
    this.#onEnd?.({ answer, duration: milliseconds(this.#clock.monotonic() - lookup.since) });
  }

  forget(key: string): void {
    this.#lookups.delete(key);
  }
}

// The pace of the requests to one source: a few at once, then one per second, each with all queries that have arrived until
// then. It also remembers recent lookups: many of them in a short time make a listing worth its pages.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Batch } from "./lookup-batches.ts";

/** Queries that arrive together share a request. */
const collectFor: Milliseconds = milliseconds(10);
/** Requests without a longer wait. Most Nodes join alone, and must not wait. */
const burst = 4;
const interval: Milliseconds = seconds(1);
/** A listing also answers the Nodes that join soon after it, if they join at this rate. */
const recentFor: Milliseconds = seconds(10);

interface Lookup {
  readonly at: number;
  readonly batch: Batch;
}

export class QueryPace {
  /** Below `burst` requests, each second adds one. */
  #allowed: number = burst;
  #allowedAt = 0;
  #recent: readonly Lookup[] = [];

  /** How long to collect queries before the next request. */
  collectFor(now: number): Milliseconds {
    const missing = Math.max(0, 1 - this.#allowedNow(now));
    return milliseconds(Math.max(collectFor, Math.ceil(missing * interval)));
  }

  /** A listing, or a series of lookups, begins. */
  begin(now: number): void {
    this.#allowed = Math.max(0, this.#allowedNow(now) - 1);
    this.#allowedAt = now;
  }

  noteLookups(batches: readonly Batch[], now: number): void {
    this.#recent = [...this.#stillRecent(now), ...batches.map((batch) => ({ at: now, batch }))];
  }

  /** Counting starts over: what was looked up before is in the listing. */
  noteListing(): void {
    this.#recent = [];
  }

  recentLookups(now: number): readonly Batch[] {
    return this.#stillRecent(now).map(({ batch }) => batch);
  }

  #stillRecent(now: number): readonly Lookup[] {
    return this.#recent.filter(({ at }) => now - at < recentFor);
  }

  #allowedNow(now: number): number {
    return Math.min(burst, this.#allowed + (now - this.#allowedAt) / interval);
  }
}

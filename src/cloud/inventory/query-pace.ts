// The pace of requests to a source: a burst, then one per second, or as many per hour as the source allows. Each request
// answers all queries that have arrived. Recent lookups are counted, because many of them in a short time make a
// listing worthwhile.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { Batch } from "./lookup-batches.ts";

/** Queries that arrive together share a request. */
const collectFor: Milliseconds = milliseconds(10);
/** How many requests are sent without a longer wait. Most Nodes join one at a time, and must not wait. */
const defaultBurst = 4;
const defaultInterval: Milliseconds = seconds(1);
/** If a source limits the requests per hour, the share of them that may be sent without a wait. */
const burstShare = 1 / 6;
/** At this rate of joining Nodes, a listing also answers the Nodes that join soon afterwards. */
const recentFor: Milliseconds = seconds(10);

interface Lookup {
  readonly at: number;
  readonly batch: Batch;
}

export class QueryPace {
  readonly #burst: number;
  readonly #interval: Milliseconds;
  /** Each interval adds one request until the burst is reached. */
  #allowed: number;
  #allowedAt = 0;
  #recent: readonly Lookup[] = [];

  constructor(requestsPerHour?: number) {
    const limit = requestsPerHour ?? Number.POSITIVE_INFINITY;
    this.#interval = milliseconds(Math.max(defaultInterval, minutes(60) / limit));
    this.#burst = requestsPerHour === undefined ? defaultBurst : Math.max(1, limit * burstShare);
    this.#allowed = this.#burst;
  }

  /** How long to collect queries before the next request. */
  collectFor(now: number): Milliseconds {
    const missing = Math.max(0, 1 - this.#allowedNow(now));
    return milliseconds(Math.max(collectFor, Math.ceil(missing * this.#interval)));
  }

  /** Records that a listing or a series of lookups begins. */
  begin(now: number): void {
    this.#allowed = Math.max(0, this.#allowedNow(now) - 1);
    this.#allowedAt = now;
  }

  noteLookups(batches: readonly Batch[], now: number): void {
    this.#recent = [...this.#stillRecent(now), ...batches.map((batch) => ({ at: now, batch }))];
  }

  /** Restarts the count, because the listing contains the earlier lookups. */
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
    return Math.min(this.#burst, this.#allowed + (now - this.#allowedAt) / this.#interval);
  }
}

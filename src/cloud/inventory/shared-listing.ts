// A listing shared by many callers: requests are collected briefly and answered by one listing that began after the last of
// them. Subscribers are notified of the result, so no worker is blocked.

import { milliseconds, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Call, Urgency } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import { backoff } from "../../runtime/backoff.ts";
import { type Complete, Snapshot } from "../../runtime/snapshot.ts";
import { requestedDelay } from "../error-policies.ts";
import { mostUrgent } from "../urgency.ts";

export interface SharedListingOptions<T> {
  readonly list: (call: Call) => AsyncIterable<readonly T[]>;
  /** See `Snapshot`. */
  readonly keyOf: (item: T) => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly onListenerError?: (error: unknown) => void;
}

export interface ListingFailure {
  readonly error: unknown;
  readonly at: number;
  /** The time of the first consecutive failure. */
  readonly since: number;
  /** The earliest start of a requested listing (monotonic). */
  readonly retryAt: number;
}

/** How long requests are collected before one listing answers them. */
const collectFor = milliseconds(20);
/** The interval between the starts of two listings, as a multiple of the first one's duration. */
const pauseFactor = 3;
const longestPause = seconds(1);
/** The backoff after a failed listing, however many requests arrive. Without it, they would cause endless listings. */
const failureBackoff = { first: seconds(1), cap: seconds(15) };

export class SharedListing<T> {
  readonly #options: SharedListingOptions<T>;
  readonly #snapshot: Snapshot<T>;
  readonly #listeners = new Set<() => void>();
  #requests: { readonly since: number; readonly urgency: Urgency; readonly at: number }[] = [];
  #isRefreshing = false;
  #isScheduled = false;
  #urgency: Urgency = "refresh";
  #failure: ListingFailure | undefined;
  #failures = 0;

  constructor(options: SharedListingOptions<T>) {
    this.#options = options;
    this.#snapshot = new Snapshot({
      clock: options.clock,
      signal: options.signal,
      keyOf: options.keyOf,
      list: (signal) => options.list({ signal, urgency: this.#urgency }),
    });
  }

  get latest(): Complete<T> | undefined {
    return this.#snapshot.latest;
  }

  /** The failure of the last attempt; undefined after a successful listing. */
  get failure(): ListingFailure | undefined {
    return this.#failure;
  }

  /** Calls the listener after each listing, successful or not. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Requests a listing that begins after this moment. */
  request(since: number, urgency: Urgency): void {
    this.#requests.push({ since, urgency, at: this.#options.clock.monotonic() });
    this.#schedule();
  }

  #schedule(): void {
    const { clock, signal } = this.#options;
    if (this.#isScheduled || this.#isRefreshing || this.#requests.length === 0 || signal.aborted) return;
    this.#isScheduled = true;
    const delay = milliseconds(Math.max(0, this.#startAt() - clock.monotonic()));
    clock.after(delay, () => void this.#refresh());
  }

  #startAt(): number {
    const [first] = this.#requests;
    if (first === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(first.at + collectFor, this.#failure?.retryAt ?? this.#endOfPause);
  }

  /** While many load balancers change in sequence, one listing serves all requests since the last one. */
  get #endOfPause(): number {
    const { latest } = this;
    if (latest === undefined) return Number.NEGATIVE_INFINITY;
    const { beganAt, endedAt } = latest;
    return beganAt + Math.min(pauseFactor * (endedAt - beganAt), longestPause);
  }

  async #refresh(): Promise<void> {
    const { clock, random, signal } = this.#options;
    this.#isScheduled = false;
    this.#isRefreshing = true;
    const requests = this.#requests;
    this.#requests = [];
    this.#urgency = mostUrgent(requests);
    const since = Math.max(...requests.map((request) => request.since));
    try {
      // A listing that began at the same moment may miss a change made at that moment.
      const isAnswered = this.latest !== undefined && this.latest.beganAt > since;
      if (!isAnswered) await this.#snapshot.beganAfter(clock.monotonic());
      this.#failure = undefined;
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const at = clock.monotonic();
      // Kept during an outage, because requesters may have longer backoffs than the outage.
      if (CloudError.is(error) && error.kind === "unavailable") this.#requests.unshift(...requests);
      // Never earlier than the cloud's Retry-After.
      const requested = requestedDelay(error, clock) ?? 0;
      const delay = Math.max(requested, backoff(this.#failures, failureBackoff, random));
      this.#failure = { error, at, since: this.#failure?.since ?? at, retryAt: at + delay };
    }
    this.#isRefreshing = false;
    if (signal.aborted) return;
    try {
      this.#notify();
    } finally {
      this.#schedule();
    }
  }

  /** A listener that throws does not affect the others or the next listings. */
  #notify(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#options.onListenerError?.(error);
      }
    }
  }
}

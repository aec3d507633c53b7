// A listing that several wait for: questions are gathered for a moment and answered by one listing that began after the
// last of them. What comes of it is told to those who subscribed; nobody waits inside a worker.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Call, Urgency } from "../provider/call.ts";
import { backoff } from "../runtime/backoff.ts";
import { type Complete, Snapshot } from "../runtime/snapshot.ts";
import { mostUrgent } from "./urgency.ts";

export interface SharedListingOptions<T> {
  readonly list: (call: Call) => AsyncIterable<readonly T[]>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** How long questions are gathered before they are answered together. */
  readonly gathering?: Milliseconds;
  readonly onListenerError?: (error: unknown) => void;
}

export interface ListingFailure {
  readonly error: unknown;
  readonly at: number;
}

/** A listing that failed is not tried again at once, however many ask: they would ask without end. */
const restAfterFailure = { first: seconds(1), cap: seconds(30) };

export class SharedListing<T> {
  readonly #options: SharedListingOptions<T>;
  readonly #snapshot: Snapshot<T>;
  readonly #listeners = new Set<() => void>();
  #queries: { readonly since: number; readonly urgency: Urgency }[] = [];
  #isAsking = false;
  #urgency: Urgency = "refresh";
  #failure: ListingFailure | undefined;
  #failures = 0;

  constructor(options: SharedListingOptions<T>) {
    this.#options = options;
    this.#snapshot = new Snapshot({
      clock: options.clock,
      signal: options.signal,
      list: (signal) => options.list({ signal, urgency: this.#urgency }),
    });
  }

  get latest(): Complete<T> | undefined {
    return this.#snapshot.latest;
  }

  /** Of the last attempt; undefined once one has succeeded since. */
  get failure(): ListingFailure | undefined {
    return this.#failure;
  }

  /** Called after each listing, whether it worked or not. Returns how to stop it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks for a listing that began after this moment. */
  want(since: number, urgency: Urgency): void {
    this.#queries.push({ since, urgency });
    this.#askSoon();
  }

  #askSoon(): void {
    if (this.#isAsking || this.#queries.length === 0 || this.#options.signal.aborted) return;
    this.#isAsking = true;
    this.#options.clock.after(this.#pause(), () => void this.#ask());
  }

  #pause(): Milliseconds {
    const { clock, random, gathering = milliseconds(20) } = this.#options;
    if (this.#failure === undefined) return gathering;
    const rest = this.#failure.at + backoff(this.#failures, restAfterFailure, random) - clock.monotonic();
    return milliseconds(Math.max(gathering, rest));
  }

  async #ask(): Promise<void> {
    const { clock, signal } = this.#options;
    const queries = this.#queries;
    this.#queries = [];
    this.#urgency = mostUrgent(queries);
    const since = Math.max(...queries.map((one) => one.since));
    try {
      // At the same moment is not after it: what was changed then may not be in it.
      const isAnswered = this.latest !== undefined && this.latest.beganAt > since;
      if (!isAnswered) await this.#snapshot.beganAfter(clock.monotonic());
      this.#failure = undefined;
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#failure = { error, at: clock.monotonic() };
    }
    this.#isAsking = false;
    if (signal.aborted) return;
    try {
      this.#report();
    } finally {
      this.#askSoon();
    }
  }

  /** One listener that throws takes nothing from the others, nor from the listings to come. */
  #report(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#options.onListenerError?.(error);
      }
    }
  }
}

// A listing that several wait for: questions are gathered for a moment and answered by one listing that began after the
// last of them. What comes of it is told to those who subscribed; nobody waits inside a worker.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Call, Urgency } from "../provider/call.ts";
import { type Complete, Snapshot } from "../runtime/snapshot.ts";
import type { Clock } from "../seams/clock.ts";

export interface SharedListingOptions<T> {
  readonly list: (call: Call) => AsyncIterable<readonly T[]>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long questions are gathered before they are answered together. */
  readonly gathering?: Milliseconds;
}

export interface ListingFailure {
  readonly error: unknown;
  readonly at: number;
}

const urgencies: readonly Urgency[] = ["user-change", "new-node", "deletion-proof", "refresh"];

export class SharedListing<T> {
  readonly #options: SharedListingOptions<T>;
  readonly #snapshot: Snapshot<T>;
  readonly #listeners = new Set<() => void>();
  #questions: { readonly since: number; readonly urgency: Urgency }[] = [];
  #isAsking = false;
  #urgency: Urgency = "refresh";
  #failure: ListingFailure | undefined;

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

  /** Asks for a listing that began at or after this moment. */
  want(since: number, urgency: Urgency): void {
    this.#questions.push({ since, urgency });
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#options.clock.after(this.#options.gathering ?? milliseconds(20), () => void this.#ask());
  }

  async #ask(): Promise<void> {
    while (this.#questions.length > 0 && !this.#options.signal.aborted) {
      const questions = this.#questions;
      this.#questions = [];
      this.#urgency =
        urgencies.find((urgency) => questions.some((one) => one.urgency === urgency)) ?? "refresh";
      try {
        await this.#snapshot.beganAfter(Math.max(...questions.map(({ since }) => since)));
        this.#failure = undefined;
      } catch (error) {
        if (this.#options.signal.aborted) break;
        this.#failure = { error, at: this.#options.clock.monotonic() };
      }
      for (const listener of this.#listeners) listener();
    }
    this.#isAsking = false;
  }
}

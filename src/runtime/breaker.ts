// Stops asking an endpoint that does not answer: open after several failures in a row, then one probe at a time.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { type BackoffLimits, backoff } from "./backoff.ts";

export interface BreakerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly rest: BackoffLimits;
}

export type BreakerState = "closed" | "open" | "half-open";

/** A call that was let through. It says how it ended, once. */
export interface Attempt {
  readonly succeeded: () => void;
  readonly failed: () => void;
  /** The caller gave up before there was an answer: says nothing about the endpoint. */
  readonly abandoned: () => void;
}

/** Leave to call, or how long to keep away. */
export type Leave =
  | { readonly may: true; readonly attempt: Attempt }
  | { readonly may: false; readonly retryAfter: Milliseconds };

export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #openUntil: number | undefined;
  #probe: Attempt | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openUntil === undefined) return "closed";
    const isAsking = this.#probe !== undefined || this.#options.clock.monotonic() >= this.#openUntil;
    return isAsking ? "half-open" : "open";
  }

  ask(): Leave {
    const attempt: Attempt = {
      succeeded: () => this.#close(),
      failed: () => this.#count(attempt),
      abandoned: () => this.#end(attempt),
    };
    if (this.#openUntil === undefined) return { may: true, attempt };
    const rest = this.#openUntil - this.#options.clock.monotonic();
    if (rest > 0) return { may: false, retryAfter: milliseconds(rest) };
    if (this.#probe !== undefined) return { may: false, retryAfter: this.#options.rest.first };
    this.#probe = attempt;
    return { may: true, attempt };
  }

  /** Whoever was answered: the endpoint lives. */
  #close(): void {
    this.#failures = 0;
    this.#openUntil = undefined;
    this.#probe = undefined;
  }

  #count(attempt: Attempt): void {
    // Calls that began before it opened say nothing new when they fail too: the rest must not grow with their number, and
    // the probe that is out stays the only one.
    if (this.#openUntil !== undefined && this.#probe !== attempt) return;
    this.#end(attempt);
    this.#failures += 1;
    const beyond = this.#failures - this.#options.failures + 1;
    if (beyond < 1) return;
    const { clock, rest, random } = this.#options;
    this.#openUntil = clock.monotonic() + backoff(beyond, rest, random);
  }

  #end(attempt: Attempt): void {
    if (this.#probe === attempt) this.#probe = undefined;
  }
}

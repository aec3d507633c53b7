// Stops asking an endpoint that does not answer: open after several failures in a row, then one probe at a time.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { type BackoffLimits, backoff } from "./backoff.ts";

export interface BreakerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly rest: BackoffLimits;
}

export type BreakerState = "closed" | "open" | "half-open";

/** Leave to call, or how long to keep away. */
export type Leave = { readonly may: true } | { readonly may: false; readonly retryAfter: Milliseconds };

export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #openUntil: number | undefined;
  #probing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openUntil === undefined) return "closed";
    return this.#probing || this.#options.clock.monotonic() >= this.#openUntil ? "half-open" : "open";
  }

  /** Whoever gets leave must say `succeeded`, `failed` or `abandoned` afterwards. */
  ask(): Leave {
    if (this.#openUntil === undefined) return { may: true };
    const rest = this.#openUntil - this.#options.clock.monotonic();
    if (rest > 0) return { may: false, retryAfter: milliseconds(rest) };
    if (this.#probing) return { may: false, retryAfter: this.#options.rest.first };
    this.#probing = true;
    return { may: true };
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openUntil = undefined;
    this.#probing = false;
  }

  failed(): void {
    // Calls that began before it opened say nothing new when they fail too: the rest must not grow with their number.
    if (this.#openUntil !== undefined && !this.#probing) return;
    this.#failures += 1;
    this.#probing = false;
    const beyond = this.#failures - this.#options.failures + 1;
    if (beyond < 1) return;
    const { clock, rest, random } = this.#options;
    this.#openUntil = clock.monotonic() + backoff(beyond, rest, random);
  }

  /** The caller gave up before there was an answer: says nothing about the endpoint. */
  abandoned(): void {
    this.#probing = false;
  }
}

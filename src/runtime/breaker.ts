// A circuit breaker for an endpoint. After several consecutive calls without a response it rejects calls for a backoff, and then
// admits one probe at a time.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { type BackoffLimits, backoff } from "./backoff.ts";

export interface BreakerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How many consecutive failures open the breaker. */
  readonly failures: number;
  readonly backoff: BackoffLimits;
}

export type BreakerState = "closed" | "open" | "half-open";

/** An admitted call. The caller reports once how it ended. */
export interface Attempt {
  /** The endpoint responded, with any status. */
  readonly succeeded: () => void;
  /** Called when the endpoint did not respond. */
  readonly failed: () => void;
  /** The caller gave up before a response: no information about the endpoint. */
  readonly abandoned: () => void;
}

/** Whether a call is admitted, and if not, when to try again. */
export type BreakerAnswer =
  | { readonly may: true; readonly attempt: Attempt }
  | { readonly may: false; readonly retryAfter: Milliseconds };

export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #successes = 0;
  #openUntil: number | undefined;
  #probe: Attempt | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openUntil === undefined) return "closed";
    const isProbing = this.#probe !== undefined || this.#options.clock.monotonic() >= this.#openUntil;
    return isProbing ? "half-open" : "open";
  }

  ask(): BreakerAnswer {
    const successes = this.#successes;
    const attempt: Attempt = {
      succeeded: () => this.#close(),
      // Another call got a response in the meantime, so only this call failed, not the endpoint.
      failed: () => (successes === this.#successes ? this.#countFailure(attempt) : this.#end(attempt)),
      abandoned: () => this.#end(attempt),
    };
    if (this.#openUntil === undefined) return { may: true, attempt };
    const remaining = this.#openUntil - this.#options.clock.monotonic();
    if (remaining > 0) return { may: false, retryAfter: milliseconds(remaining) };
    if (this.#probe !== undefined) return { may: false, retryAfter: this.#options.backoff.first };
    this.#probe = attempt;
    return { may: true, attempt };
  }

  /** Any response shows that the endpoint is up, including one to a call that began before the breaker opened. */
  #close(): void {
    this.#successes += 1;
    this.#failures = 0;
    this.#openUntil = undefined;
    this.#probe = undefined;
  }

  #countFailure(attempt: Attempt): void {
    // Failures of calls that began before the breaker opened do not count: the backoff must not grow with their number, and there
    // must be only one probe.
    if (this.#openUntil !== undefined && this.#probe !== attempt) return;
    this.#end(attempt);
    this.#failures += 1;
    const beyond = this.#failures - this.#options.failures + 1;
    if (beyond < 1) return;
    const { clock, backoff: limits, random } = this.#options;
    this.#openUntil = clock.monotonic() + backoff(beyond, limits, random);
  }

  #end(attempt: Attempt): void {
    if (this.#probe === attempt) this.#probe = undefined;
  }
}

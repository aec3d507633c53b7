// The rate budget of one account: admits calls within the cloud's rate limit, the most urgent first, and keeps a reserve for
// them. It learns the limit from response headers; nothing is configured.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

/** What a response says about the rate limit. Most clouds send only a part of it. */
export interface RateLimit {
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  /** Until the limit is replenished. */
  readonly resetIn?: Milliseconds | undefined;
  /** After a refusal: no calls for this long. */
  readonly closedFor?: Milliseconds | undefined;
}

export interface BudgetLevel {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly inFlight: number;
  readonly waiting: number;
  readonly closedFor: Milliseconds;
}

export interface BudgetOptions {
  readonly clock: Clock;
  readonly maxInFlight: number;
  /** By rank (0 is the most urgent): a call of this rank waits when less than this share of the limit remains. */
  readonly reserve: readonly number[];
}

interface Waiter {
  readonly rank: number;
  readonly admit: () => void;
}

export class Budget {
  readonly #options: BudgetOptions;
  readonly #waiters: Waiter[] = [];
  #inFlight = 0;
  #closedUntil = 0;
  #known: { readonly limit: number; remaining: number; readonly resetAt: number } | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get level(): BudgetLevel {
    const known = this.#current();
    return {
      limit: known?.limit,
      remaining: known?.remaining,
      inFlight: this.#inFlight,
      waiting: this.#waiters.length,
      closedFor: milliseconds(Math.max(0, this.#closedUntil - this.#options.clock.monotonic())),
    };
  }

  /** Resolves when a call of this rank is admitted: by rank, then in order of arrival. Call `leave` afterwards. */
  enter(rank: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        rank,
        admit: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const behind = this.#waiters.findIndex((other) => other.rank > rank);
      this.#waiters.splice(behind === -1 ? this.#waiters.length : behind, 0, waiter);
      this.#admit();
    });
  }

  /** The minimum wait of this rank under the known rate limit; calls in flight are not considered. */
  waitFor(rank: number): Milliseconds {
    const now = this.#options.clock.monotonic();
    if (now < this.#closedUntil) return milliseconds(this.#closedUntil - now);
    const known = this.#current();
    const isLow = known !== undefined && known.remaining <= known.limit * (this.#options.reserve[rank] ?? 0);
    return milliseconds(isLow ? Math.max(0, known.resetAt - now) : 0);
  }

  leave(): void {
    this.#inFlight -= 1;
    this.#admit();
  }

  learn(update: RateLimit): void {
    const now = this.#options.clock.monotonic();
    if (update.closedFor !== undefined)
      this.#closedUntil = Math.max(this.#closedUntil, now + update.closedFor);
    if (update.remaining !== undefined && update.limit !== undefined) {
      this.#known = {
        limit: update.limit,
        remaining: update.remaining,
        resetAt: now + (update.resetIn ?? 60_000),
      };
    }
    this.#admit();
  }

  #current() {
    if (this.#known !== undefined && this.#known.resetAt <= this.#options.clock.monotonic())
      this.#known = undefined;
    return this.#known;
  }

  #admit(): void {
    const now = this.#options.clock.monotonic();
    let waiter = this.#waiters[0];
    while (waiter !== undefined && this.#mayEnter(waiter.rank, now)) {
      this.#waiters.shift();
      this.#inFlight += 1;
      const known = this.#current();
      if (known !== undefined) known.remaining = Math.max(0, known.remaining - 1);
      waiter.admit();
      waiter = this.#waiters[0];
    }
    if (waiter !== undefined) this.#scheduleAdmission(now);
  }

  #mayEnter(rank: number, now: number): boolean {
    if (this.#inFlight >= this.#options.maxInFlight || now < this.#closedUntil) return false;
    const known = this.#current();
    return known === undefined || known.remaining > known.limit * (this.#options.reserve[rank] ?? 0);
  }

  /** A refusal and a used-up limit end with time; all other waits end when a call leaves. */
  #scheduleAdmission(now: number): void {
    this.#cancelTimer?.();
    const opens = now < this.#closedUntil ? this.#closedUntil : this.#current()?.resetAt;
    if (opens === undefined) return;
    this.#cancelTimer = this.#options.clock.after(milliseconds(Math.max(1, opens - now)), () =>
      this.#admit(),
    );
  }
}

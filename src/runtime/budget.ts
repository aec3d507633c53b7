// One budget per credential: who may call now, and who waits so that the important calls still get through. It learns
// the limits from what the cloud says with each answer; nothing is configured.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

/** What a cloud told about its limit; all of it is optional on most clouds. */
export interface BudgetNews {
  readonly limit?: number;
  readonly remaining?: number;
  /** From now until the limit is whole again. */
  readonly resetIn?: Milliseconds;
  /** A refusal: nobody calls before this has passed. */
  readonly closedFor?: Milliseconds;
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
  /** By rank (0 is the most urgent): the share of the limit that must be left for this rank to call. */
  readonly reserve: readonly number[];
}

interface Waiter {
  readonly rank: number;
  readonly go: () => void;
}

export class Budget {
  readonly #options: BudgetOptions;
  readonly #waiters: Waiter[] = [];
  #inFlight = 0;
  #closedUntil = 0;
  #known: { readonly limit: number; remaining: number; readonly resetAt: number } | undefined;
  #cancelWake: (() => void) | undefined;

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

  /** Resolves when this rank may call. The more urgent go first; within a rank the first come. Call `leave` afterwards. */
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
        go: () => {
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

  /** How long this rank would wait at the least, as far as the cloud has told; others in flight not counted. */
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

  learn(news: BudgetNews): void {
    const now = this.#options.clock.monotonic();
    if (news.closedFor !== undefined) this.#closedUntil = Math.max(this.#closedUntil, now + news.closedFor);
    if (news.remaining !== undefined && news.limit !== undefined) {
      this.#known = {
        limit: news.limit,
        remaining: news.remaining,
        resetAt: now + (news.resetIn ?? 60_000),
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
    while (waiter !== undefined && this.#mayGo(waiter.rank, now)) {
      this.#waiters.shift();
      this.#inFlight += 1;
      const known = this.#current();
      if (known !== undefined) known.remaining = Math.max(0, known.remaining - 1);
      waiter.go();
      waiter = this.#waiters[0];
    }
    if (waiter !== undefined) this.#wakeLater(now);
  }

  #mayGo(rank: number, now: number): boolean {
    if (this.#inFlight >= this.#options.maxInFlight || now < this.#closedUntil) return false;
    const known = this.#current();
    return known === undefined || known.remaining > known.limit * (this.#options.reserve[rank] ?? 0);
  }

  /** Time alone opens what a refusal or an empty budget closed; answers open the rest. */
  #wakeLater(now: number): void {
    this.#cancelWake?.();
    const opens = now < this.#closedUntil ? this.#closedUntil : this.#current()?.resetAt;
    if (opens === undefined) return;
    this.#cancelWake = this.#options.clock.after(milliseconds(Math.max(1, opens - now)), () => this.#admit());
  }
}

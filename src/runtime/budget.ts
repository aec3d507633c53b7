// The rate budget of one account: admits calls within the cloud's rate limit, the most urgent first, and keeps a reserve for
// urgent calls. Learns the limit from response headers and from rejections, which concern one operation or the account;
// nothing is configured.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

/** The rate limit as a response reports it. Most clouds send only a part of it. */
export interface RateLimit {
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  /** Until the limit is replenished. If unset, a minute, during which the most urgent calls are still sent. */
  readonly resetIn?: Milliseconds | undefined;
  /** Until the limit is full, if it is replenished evenly. Takes precedence over `resetIn`. */
  readonly fullIn?: Milliseconds | undefined;
  /** After a rejection, no calls for this long. For `learn`, no calls of the account. */
  readonly closedFor?: Milliseconds | undefined;
}

const minute = 60_000;

/** Used if the headers contain no reset time. */
const defaultReset = seconds(60);

export interface BudgetLevel {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly inFlight: number;
  readonly waiting: number;
  readonly closedFor: Milliseconds;
  /** The operations that the cloud refuses, and for how long. */
  readonly closedOperations: Readonly<Record<string, Milliseconds>>;
}

export interface BudgetOptions {
  readonly clock: Clock;
  readonly maxInFlight: number;
  /** By rank (0 is the most urgent): a call of this rank waits when less than this share of the limit remains. */
  readonly reserve: readonly number[];
  /** A limit that responses do not report. */
  readonly requestsPerMinute?: number | undefined;
}

/** A call that asks for admission. */
export interface CallEntry {
  readonly rank: number;
  /** The operation to which a rejection may apply. */
  readonly operation?: string;
  /** The maximum wait for the rate limit; unlimited if unset. A call that would wait longer is rejected immediately. */
  readonly maxWait?: Milliseconds;
}

/** A call was not admitted, because it would wait longer than allowed. */
export class WaitTooLongError extends Error {
  override readonly name = "WaitTooLongError";
  readonly wait: Milliseconds;

  constructor(wait: Milliseconds) {
    super(`The rate limit is used up for ${wait} ms.`);
    this.wait = wait;
  }
}

/** A call that the budget has admitted. */
export interface AdmittedCall {
  /** The number of calls that had ended when this call was admitted. The limit that its response reports includes them. */
  readonly endedBefore: number;
}

interface Waiter extends Required<CallEntry> {
  readonly admit: (admission: AdmittedCall) => void;
  readonly refuse: (error: unknown) => void;
}

export class Budget {
  readonly #options: BudgetOptions;
  readonly #waiters: Waiter[] = [];
  #inFlight = 0;
  /** The number of calls so far. */
  #admitted = 0;
  #ended = 0;
  #closedUntil = 0;
  readonly #closedOperations = new Map<string, number>();
  #known: KnownLimit | undefined;
  #mostRemaining = 0;
  /** When each call in the last minute ended, oldest first. The cloud counted each call earlier than that. */
  readonly #lastMinute: number[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get level(): BudgetLevel {
    const known = this.#current();
    const now = this.#options.clock.monotonic();
    const closed = [...this.#closedOperations].filter(([, until]) => until > now);
    return {
      limit: known?.limit,
      remaining: known && remainingOf(known, now),
      inFlight: this.#inFlight,
      waiting: this.#waiters.length,
      closedFor: milliseconds(Math.max(0, this.#closedUntil - now)),
      closedOperations: Object.fromEntries(
        closed.map(([operation, until]) => [operation, milliseconds(until - now)]),
      ),
    };
  }

  /**
   * Resolves when the call is admitted: by rank, then in order of arrival. Call `leave` afterwards. Rejects with a
   * `WaitTooLongError`, even if a rejection by the cloud arrives while the call waits.
   */
  enter(entry: CallEntry, signal: AbortSignal): Promise<AdmittedCall> {
    const { rank, operation = "", maxWait = milliseconds(Number.POSITIVE_INFINITY) } = entry;
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => waiter.refuse(signal.reason);
      const waiter: Waiter = {
        rank,
        operation,
        maxWait,
        admit: (admission) => {
          signal.removeEventListener("abort", onAbort);
          resolve(admission);
        },
        refuse: (error) => {
          signal.removeEventListener("abort", onAbort);
          this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
          reject(error);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const behind = this.#waiters.findIndex((other) => other.rank > rank);
      this.#waiters.splice(behind === -1 ? this.#waiters.length : behind, 0, waiter);
      this.#refuseIfTooLong(waiter);
      this.#admit();
    });
  }

  #refuseIfTooLong(waiter: Waiter): void {
    const wait = milliseconds(Math.max(this.waitFor(waiter.rank), this.waitOf(waiter.operation)));
    if (wait > waiter.maxWait) waiter.refuse(new WaitTooLongError(wait));
  }

  /** The minimum wait of this rank under the known rate limit; calls in flight are not considered. */
  waitFor(rank: number): Milliseconds {
    const now = this.#options.clock.monotonic();
    if (now < this.#closedUntil) return milliseconds(this.#closedUntil - now);
    const known = this.#current();
    const enoughAt = known === undefined || !this.#isLow(rank) ? now : this.#enoughAt(known, rank);
    return milliseconds(Math.max(0, enoughAt - now, this.#inMinuteAt(rank, now) - now));
  }

  /** When the limit per minute admits a call of this rank. */
  #inMinuteAt(rank: number, now: number): number {
    const { requestsPerMinute: limit, reserve } = this.#options;
    if (limit === undefined) return now;
    const ended = this.#lastMinute;
    while (ended[0] !== undefined && ended[0] + minute <= now) ended.shift();
    const allowed = Math.floor(limit * (1 - (reserve[rank] ?? 0)));
    const tooMany = ended.length + this.#inFlight + 1 - allowed;
    return tooMany <= 0 ? now : (ended[tooMany - 1] ?? now) + minute;
  }

  /** When a call of this rank may be sent. */
  #enoughAt({ limit, remaining, asOf, refill, resetAt }: KnownLimit, rank: number): number {
    if (refill === 0) return resetAt;
    const needed = Math.floor(limit * (this.#options.reserve[rank] ?? 0)) + 1;
    return Math.min(resetAt, asOf + Math.ceil((needed - remaining) / refill));
  }

  /** The time during which the cloud refuses this operation. */
  waitOf(operation: string): Milliseconds {
    const until = this.#closedOperations.get(operation) ?? 0;
    return milliseconds(Math.max(0, until - this.#options.clock.monotonic()));
  }

  leave(): void {
    this.#inFlight -= 1;
    this.#ended += 1;
    if (this.#options.requestsPerMinute !== undefined) this.#lastMinute.push(this.#options.clock.monotonic());
    this.#admit();
  }

  /** `admission` belongs to the call with this response; unset if nothing is in flight. */
  learn(update: RateLimit, admission?: AdmittedCall): void {
    const now = this.#options.clock.monotonic();
    if (update.closedFor !== undefined)
      this.#closedUntil = Math.max(this.#closedUntil, now + update.closedFor);
    if (update.remaining !== undefined) {
      // Some clouds report only what remains.
      this.#mostRemaining = Math.max(this.#mostRemaining, update.remaining);
      const { fullIn } = update;
      const limit = update.limit ?? this.#mostRemaining;
      const resetIn = fullIn ?? update.resetIn;
      this.#known = {
        limit,
        remaining: this.#remainingAfter(update.remaining, admission),
        asOf: now,
        refill: fullIn === undefined || fullIn === 0 ? 0 : Math.max(0, limit - update.remaining) / fullIn,
        resetAt: now + (resetIn ?? defaultReset),
        isResetKnown: resetIn !== undefined,
      };
    }
    this.#onNews();
  }

  /** The cloud may have counted other calls before or after this one. Within these bounds, the own count is exact. */
  #remainingAfter(reported: number, admission: AdmittedCall | undefined): number {
    if (admission === undefined) return reported;
    const perhapsNotCounted = this.#admitted - admission.endedBefore - 1;
    const known = this.#current();
    const own = known === undefined ? 0 : remainingOf(known, this.#options.clock.monotonic());
    return Math.max(0, reported - perhapsNotCounted, Math.min(own, reported));
  }

  /** The cloud rejected this operation: it is not sent for this time, but other operations are. */
  close(operation: string, delay: Milliseconds): void {
    const until = this.#options.clock.monotonic() + delay;
    this.#closedOperations.set(operation, Math.max(until, this.#closedOperations.get(operation) ?? 0));
    this.#onNews();
  }

  /** Called when the wait times of calls may have changed. */
  #onNews(): void {
    for (const waiter of this.#waiters.slice()) this.#refuseIfTooLong(waiter);
    this.#admit();
  }

  #current() {
    if (this.#known !== undefined && this.#known.resetAt <= this.#options.clock.monotonic())
      this.#known = undefined;
    return this.#known;
  }

  #admit(): void {
    const now = this.#options.clock.monotonic();
    for (const [operation, until] of this.#closedOperations) {
      if (until <= now) this.#closedOperations.delete(operation);
    }
    let index = 0;
    for (let waiter = this.#waiters[index]; waiter !== undefined; waiter = this.#waiters[index]) {
      if (!this.#mayEnter(waiter.rank, now)) break;
      // Calls do not wait behind a call whose operation is closed.
      if (this.#closedOperations.has(waiter.operation)) {
        index += 1;
        continue;
      }
      this.#waiters.splice(index, 1);
      this.#inFlight += 1;
      const known = this.#current();
      if (known !== undefined) spend(known, now);
      this.#admitted += 1;
      waiter.admit({ endedBefore: this.#ended });
    }
    if (this.#waiters.length > 0) this.#scheduleAdmission(now);
  }

  #mayEnter(rank: number, now: number): boolean {
    if (this.#inFlight >= this.#options.maxInFlight || now < this.#closedUntil) return false;
    return !this.#isLow(rank) && this.#inMinuteAt(rank, now) <= now;
  }

  /** Whether the remaining requests are reserved for more urgent calls, or used up. */
  #isLow(rank: number): boolean {
    const known = this.#current();
    if (known === undefined) return false;
    const reserve = this.#options.reserve[rank] ?? 0;
    if (reserve === 0 && !known.isResetKnown) return false;
    return remainingOf(known, this.#options.clock.monotonic()) <= known.limit * reserve;
  }

  /** Rejections and an exhausted limit end with time; all other waits end when a call completes. */
  #scheduleAdmission(now: number): void {
    this.#cancelTimer?.();
    const known = this.#current();
    const enough =
      known === undefined
        ? []
        : this.#waiters.map(({ rank }) => this.#enoughAt(known, rank)).filter((at) => at > now);
    const inMinute = this.#waiters.map(({ rank }) => this.#inMinuteAt(rank, now)).filter((at) => at > now);
    const ends = [...this.#closedOperations.values(), ...enough, ...inMinute];
    const opens = now < this.#closedUntil ? this.#closedUntil : Math.min(...ends);
    if (opens === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = this.#options.clock.after(milliseconds(Math.max(1, opens - now)), () =>
      this.#admit(),
    );
  }
}

/** The rate limit that the cloud last reported. Later calls have consumed part of it, and it may be replenished evenly. */
export interface KnownLimit {
  readonly limit: number;
  /** The remaining requests at `asOf`, minus the calls that were sent since. */
  remaining: number;
  readonly asOf: number;
  /** The amount of the limit that is replenished per millisecond. */
  readonly refill: number;
  readonly resetAt: number;
  /** Whether the cloud stated the reset time. */
  readonly isResetKnown: boolean;
}

/** In whole requests. */
function remainingOf({ limit, remaining, asOf, refill }: KnownLimit, now: number): number {
  if (refill === 0) return remaining;
  // A fraction may be lost to rounding when a whole request is back.
  return Math.floor(Math.min(limit, remaining + (now - asOf) * refill) + 1e-6);
}

/** Never below the replenished amount. The next response corrects the estimate. */
function spend(known: KnownLimit, now: number): void {
  const { asOf, refill } = known;
  known.remaining = Math.max(0 - (now - asOf) * refill, known.remaining - 1);
}

// A rate limit as the cloud last reported it, and what is left of it since then: calls use it up, and it may come back evenly.

export interface KnownLimit {
  readonly limit: number;
  /** At `asOf`, less what was sent since. */
  remaining: number;
  readonly asOf: number;
  /** How much of the limit comes back per millisecond. */
  readonly refill: number;
  readonly resetAt: number;
  /** Whether the cloud named the reset time. */
  readonly isResetKnown: boolean;
}

/** In whole requests. */
export function remainingOf({ limit, remaining, asOf, refill }: KnownLimit, now: number): number {
  if (refill === 0) return remaining;
  // A fraction may be lost to rounding when a whole request is back.
  return Math.floor(Math.min(limit, remaining + (now - asOf) * refill) + 1e-6);
}

/** Never below what has come back: the next response reports the truth. */
export function spend(known: KnownLimit, cost: number, now: number): void {
  const { asOf, refill } = known;
  known.remaining = Math.max(0 - (now - asOf) * refill, known.remaining - cost);
}

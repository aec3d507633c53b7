// How long to wait: after the n-th failure in a row exponentially longer, capped, with full jitter so that failures spread
// out; and until a moment that many share, where their questions can be answered together.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Random } from "../platform/random.ts";

export interface BackoffLimits {
  readonly first: Milliseconds;
  readonly cap: Milliseconds;
}

/** first × 2^(failures-1), at most the cap: where only one waits, nothing has to be spread. `failures` counts from one. */
export function fullBackoff(failures: number, { first, cap }: BackoffLimits): Milliseconds {
  return milliseconds(Math.min(cap, first * 2 ** Math.min(30, Math.max(0, failures - 1))));
}

/** Uniform between half and all of that. */
export function backoff(failures: number, limits: BackoffLimits, random: Random): Milliseconds {
  return milliseconds(Math.round(fullBackoff(failures, limits) * (0.5 + random.fraction() / 2)));
}

/** To the next multiple of the grid, never zero: whoever waits for it wakes together. */
export function untilNext(now: number, grid: Milliseconds): Milliseconds {
  return milliseconds((Math.floor(now / grid) + 1) * grid - now);
}

/**
 * The rest, made longer (at most doubled) so that it ends at a moment that others share: keys whose rests are about equally
 * long wake together, and one listing answers them all. What a cloud is asked then does not grow with their number.
 */
export function together(now: number, rest: Milliseconds): Milliseconds {
  if (rest <= 0) return rest;
  const grid = 2 ** Math.floor(Math.log2(rest));
  return milliseconds(Math.ceil((now + rest) / grid) * grid - now);
}

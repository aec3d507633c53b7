// How long to wait after the n-th failure in a row: exponential, capped, with full jitter so that failures spread out.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Random } from "../seams/random.ts";

export interface BackoffLimits {
  readonly first: Milliseconds;
  readonly cap: Milliseconds;
}

/** Uniform between half and all of first × 2^(failures-1), at most the cap. `failures` counts from one. */
export const backoff = (failures: number, limits: BackoffLimits, random: Random): Milliseconds => {
  const full = Math.min(limits.cap, limits.first * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return milliseconds(Math.round(full * (0.5 + random.fraction() / 2)));
};

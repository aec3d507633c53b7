// Wait times: exponential backoff with a cap and jitter, and waits aligned so that many keys become due together. Pure.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Random } from "../platform/random.ts";

export interface BackoffLimits {
  readonly first: Milliseconds;
  readonly cap: Milliseconds;
}

/** The backoff without jitter, for a single caller: first × 2^(failures-1), at most the cap. `failures` counts from one. */
export function fullBackoff(failures: number, { first, cap }: BackoffLimits): Milliseconds {
  return milliseconds(Math.min(cap, first * 2 ** Math.min(30, Math.max(0, failures - 1))));
}

/** The backoff with jitter: uniform between half of `fullBackoff` and all of it. */
export function backoff(failures: number, limits: BackoffLimits, random: Random): Milliseconds {
  return milliseconds(Math.round(fullBackoff(failures, limits) * (0.5 + random.fraction() / 2)));
}

/** The wait until the next multiple of the grid, never zero. All keys that wait for it become due together. */
export function untilNext(now: number, grid: Milliseconds): Milliseconds {
  return milliseconds((Math.floor(now / grid) + 1) * grid - now);
}

/**
 * The delay, extended (at most doubled) so that keys with similar delays become due together and one listing answers them
 * all. The number of cloud requests then does not grow with the number of keys.
 */
export function alignToGrid(now: number, delay: Milliseconds): Milliseconds {
  if (delay <= 0) return delay;
  const grid = 2 ** Math.floor(Math.log2(delay));
  return milliseconds(Math.ceil((now + delay) / grid) * grid - now);
}

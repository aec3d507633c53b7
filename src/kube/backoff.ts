// How long to wait after the n-th failure in a row: doubling, capped, spread so that replicas do not come together.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Random } from "../seams/random.ts";

export interface Backoff {
  next(atLeast?: Milliseconds): Milliseconds;
  reset(): void;
}

export const createBackoff = (random: Random, first = milliseconds(800), most = seconds(30)): Backoff => {
  let failures = 0;
  return {
    next: (atLeast = milliseconds(0)) => {
      const base = Math.min(most, first * 2 ** Math.min(failures++, 20));
      // Between a half and the whole; what the server asked for is never undercut.
      return milliseconds(Math.max(atLeast, base * (0.5 + random.fraction() / 2)));
    },
    reset: () => {
      failures = 0;
    },
  };
};

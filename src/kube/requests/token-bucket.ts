// A hard rate with a burst, for those who set --kube-api-qps and --kube-api-burst. Without those flags there is none.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";

export interface TokenBucket {
  /** Resolves when one more request may go; callers go in the order in which they came. */
  take(signal: AbortSignal): Promise<void>;
}

export function createTokenBucket(
  { ratePerSecond, burst }: { readonly ratePerSecond: number; readonly burst: number },
  clock: Clock,
): TokenBucket {
  let tokens = Math.max(1, burst);
  let at = clock.monotonic();
  const refill = (): void => {
    const now = clock.monotonic();
    tokens = Math.min(Math.max(1, burst), tokens + ((now - at) / 1000) * ratePerSecond);
    at = now;
  };
  return {
    take: async (signal) => {
      signal.throwIfAborted();
      refill();
      // May go below zero: the debt is what those who came before still wait for.
      tokens -= 1;
      if (tokens >= 0) return;
      const wait: Milliseconds = milliseconds((-tokens / ratePerSecond) * 1000);
      try {
        await sleep(clock, wait, signal);
      } catch (reason) {
        tokens += 1;
        throw reason;
      }
    },
  };
}

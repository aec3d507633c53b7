// The only reader of time. Everything that waits or asks what time it is gets a Clock, so that tests own time.

import type { Milliseconds } from "../core/brand.ts";

export interface Clock {
  /** Wall time, milliseconds since 1970. May step. */
  now(): number;
  /** Milliseconds from an arbitrary start; never steps back. */
  monotonic(): number;
  /** Calls back once, later, unless cancelled by the function it returns. */
  after(delay: Milliseconds, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delay, callback) => {
    const timer = setTimeout(callback, delay);
    return () => clearTimeout(timer);
  },
};

/** Resolves after the delay; rejects with the signal's reason when that comes first, and leaves no listener behind. */
export function sleep(clock: Clock, delay: Milliseconds, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(delay, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

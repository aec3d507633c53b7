// The only file that reads the time and sets timers. All other code is given a Clock, so that tests control time.

import type { Milliseconds } from "../core/brand.ts";

/** Time and timers. Tests use a `VirtualClock`. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970, which may step. */
  now(): number;
  /** Milliseconds from an arbitrary start, which never step back. */
  monotonic(): number;
  /** Calls back once after the delay, unless the returned function cancels it. */
  after(delay: Milliseconds, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delay, callback) => {
    if (delay <= 0) {
      // A timer takes a millisecond. The first of these may run before due timers and sockets; the second runs after them.
      let immediate = setImmediate(() => {
        immediate = setImmediate(callback);
      });
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(callback, delay);
    return () => clearTimeout(timer);
  },
};

/** Resolves after the delay. Rejects with the signal's reason if it is aborted first. Leaves no listener behind. */
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

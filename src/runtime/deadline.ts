// A deadline for work that takes a signal. At the deadline the work's signal is aborted, so that the work stops.

import type { Milliseconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import type { Clock } from "../platform/clock.ts";

export class DeadlineError extends Error {
  constructor(what: string, limit: Milliseconds) {
    super(`${what} did not respond within ${formatDuration(limit)}.`);
    this.name = "DeadlineError";
  }
}

/** Rejects at the deadline even when the work ignores its signal. */
export function withDeadline<T>(
  clock: Clock,
  limit: Milliseconds,
  what: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const controller = new AbortController();
    const end = (reason: unknown) => {
      controller.abort(reason);
      finish();
      reject(reason);
    };
    const onAbort = () => end(signal.reason);
    const cancel = clock.after(limit, () => end(new DeadlineError(what, limit)));
    const finish = () => {
      cancel();
      signal.removeEventListener("abort", onAbort);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const begun = async (): Promise<T> => work(controller.signal);
    begun().then(
      (value) => {
        finish();
        resolve(value);
      },
      (error) => {
        finish();
        reject(error);
      },
    );
  });
}

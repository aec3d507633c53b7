// Ends the wait for a promise when a signal is aborted, even if the promise never settles. It does not stop the work behind
// the promise; pass the signal there as well.

import type { Milliseconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import type { Clock } from "../platform/clock.ts";

/** Rejects with the signal's reason as soon as it is aborted. Removes its listener. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      // Prevents an unhandled rejection: the promise has no other listener.
      promise.catch(() => {});
      return reject(signal.reason);
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A controller that is aborted with an outer signal until unlinked, and can be aborted separately. */
export function linkedController(outer: AbortSignal): {
  readonly controller: AbortController;
  unlink(): void;
} {
  const controller = new AbortController();
  if (outer.aborted) controller.abort(outer.reason);
  const onAbort = () => controller.abort(outer.reason);
  outer.addEventListener("abort", onAbort, { once: true });
  return { controller, unlink: () => outer.removeEventListener("abort", onAbort) };
}

// A deadline for work that takes a signal. At the deadline the work's signal is aborted, so that it stops too.

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

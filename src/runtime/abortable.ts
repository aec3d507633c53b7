// Makes waiting for a promise end when a signal says so, even if what was asked never answers. It cannot stop the work
// behind the promise; whoever started it passes the signal there too.

/** Rejects with the signal's reason as soon as it is aborted; leaves no listener behind. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      // The loser's own failure has nobody left to hear it.
      promise.catch(() => {});
      return reject(signal.reason);
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A controller that follows an outer signal until unlinked, and can be aborted on its own. */
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

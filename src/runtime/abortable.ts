// Ends the wait for a promise when a signal is aborted, even if the promise never settles. Does not stop the work behind
// the promise; pass the signal there.

/** Rejects with the signal's reason as soon as it is aborted. Removes its listener. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      // Prevents an unhandled rejection, because the promise has no other listener.
      promise.catch(() => {});
      return reject(signal.reason);
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const end = () => signal.removeEventListener("abort", onAbort);
    promise.then(
      (value) => {
        end();
        resolve(value);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}

/** A controller that is aborted with an outer signal until it is unlinked, and can be aborted separately. */
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

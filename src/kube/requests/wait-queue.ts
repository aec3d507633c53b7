// A first-in, first-out queue of callers that wait for a place. A caller leaves the queue when its signal is aborted.
// `RequestLimit` and `WriteConcurrency` decide when a place is free.

export class WaitQueue {
  readonly #waiting = new Set<() => void>();

  get length(): number {
    return this.#waiting.size;
  }

  /** Resolves when `next` reaches this caller; rejects with the signal's reason, and then it takes no place. */
  join(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const admit = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(admit);
        reject(signal.reason);
      };
      this.#waiting.add(admit);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Admits the caller that has waited longest; false when the queue is empty. */
  next(): boolean {
    for (const admit of this.#waiting) {
      this.#waiting.delete(admit);
      admit();
      return true;
    }
    return false;
  }
}

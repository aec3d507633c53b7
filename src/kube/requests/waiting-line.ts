// A line of callers, each waiting for its turn and free to leave when its signal is aborted.
// It decides nothing about when a turn comes: ceilings and windows do.

export class WaitingLine {
  readonly #waiting = new Set<() => void>();

  get length(): number {
    return this.#waiting.size;
  }

  /** Resolves when it is this caller's turn; rejects with the signal's reason, and then no turn is used up. */
  join(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onTurn = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(onTurn);
        reject(signal.reason);
      };
      this.#waiting.add(onTurn);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Gives the turn to whoever has waited longest; false when nobody waits. */
  next(): boolean {
    for (const turn of this.#waiting) {
      this.#waiting.delete(turn);
      turn();
      return true;
    }
    return false;
  }
}

// Attempts whose intervals grow while they fail.

/** The number of attempts that are skipped after each failure; the last number applies to all later failures. */
const leftOut = [2, 11] as const;

export class Attempts {
  #failures = 0;
  #left = 0;
  #error: Error | undefined;

  /** Throws the last error unless the next attempt is due. An attempt that neither fails nor succeeds is repeated immediately. */
  begin(): void {
    if (this.#left === 0) return;
    this.#left -= 1;
    throw this.#error;
  }

  fail(error: Error): void {
    this.#left = leftOut[this.#failures] ?? leftOut.at(-1) ?? 0;
    this.#failures += 1;
    this.#error = error;
  }

  succeed(): void {
    this.#failures = 0;
    this.#left = 0;
  }
}

// Attempts that are made ever less often while they fail.

/** How many are left out after each failure; the last number counts for all that follow. */
const leftOut = [2, 11] as const;

export class Attempts {
  #failures = 0;
  #left = 0;
  #error: Error | undefined;

  /** Throws the last error unless the next attempt is due. One that neither fails nor succeeds is made again at once. */
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

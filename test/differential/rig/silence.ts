// Measures how long something has been unchanged. Pure.

/**
 * How long nothing changes. The number of observations counts too, because on a busy machine both an observation and a
 * manager take long.
 */
export interface Silence {
  readonly ms: number;
  readonly looks: number;
}

/** Something that is observed from time to time. */
export class Observed {
  #text: string | undefined;
  #changedAt = 0;
  #looks = 0;

  /** Records the state at this time, in milliseconds. */
  see(text: string, now: number): void {
    this.#looks += 1;
    if (text === this.#text) return;
    this.#text = text;
    this.#looks = 0;
    this.#changedAt = now;
  }

  hasBeen({ ms, looks }: Silence, now: number): boolean {
    return now - this.#changedAt > ms && this.#looks >= looks;
  }
}

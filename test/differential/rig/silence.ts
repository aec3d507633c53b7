// How long something has not changed. Pure.

/** For how long nothing changes. Looks count too, because on a busy machine a look takes long, and so does a manager. */
export interface Silence {
  readonly ms: number;
  readonly looks: number;
}

/** Something that is looked at from time to time. */
export class Observed {
  #text: string | undefined;
  #changedAt = 0;
  #looks = 0;

  /** What it looks like at this time, in milliseconds. */
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

// Work that takes longer than a worker may wait: changes in the cloud, until they have ended. When it ends, its key is enqueued again.

export type Ended<T> = { readonly value: T } | { readonly error: unknown };

export class BackgroundWork<T> {
  readonly #onEnd: (key: string) => void;
  readonly #byKey = new Map<string, Ended<T> | "running">();
  readonly #running = new Set<Promise<void>>();

  constructor(onEnd: (key: string) => void) {
    this.#onEnd = onEnd;
  }

  /** One at a time for each key: call it after `take` has returned undefined. */
  start(key: string, work: () => Promise<T>): void {
    this.#byKey.set(key, "running");
    const running = work()
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
      .then((ended) => {
        this.#running.delete(running);
        this.#byKey.set(key, ended);
        this.#onEnd(key);
      });
    this.#running.add(running);
  }

  /** Forgets the result that it returns. */
  take(key: string): Ended<T> | "running" | undefined {
    const known = this.#byKey.get(key);
    if (known !== "running") this.#byKey.delete(key);
    return known;
  }

  /** Gives a result back that could not be used: the next `take` returns it. */
  keep(key: string, ended: Ended<T>): void {
    this.#byKey.set(key, ended);
  }

  /** Resolves when nothing runs. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

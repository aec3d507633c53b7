// Runs cloud changes that take longer than a worker may wait. When such work ends, its object is enqueued again. The work belongs
// to one leadership session, and each result to the object for which it was started.

import type { ObjectRef } from "./object-ref.ts";

export type Ended<T> = { readonly value: T } | { readonly error: unknown };

export class BackgroundWork<T> {
  readonly #onEnd: (ref: ObjectRef) => void;
  readonly #byRef = new Map<ObjectRef, Ended<T> | "running">();
  readonly #running = new Set<Promise<void>>();
  readonly #limit: number;
  /** Work beyond the limit, which begins when running work ends. */
  readonly #waiting: (() => void)[] = [];

  constructor(onEnd: (ref: ObjectRef) => void, limit = Number.POSITIVE_INFINITY) {
    this.#onEnd = onEnd;
    this.#limit = limit;
  }

  /** Runs one change at a time for each object. Call this after `take` has returned undefined. */
  start(ref: ObjectRef, work: () => Promise<T>): void {
    this.#byRef.set(ref, "running");
    if (this.#running.size < this.#limit) this.#begin(ref, work);
    else this.#waiting.push(() => this.#begin(ref, work));
  }

  #begin(ref: ObjectRef, work: () => Promise<T>): void {
    const running = work()
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
      .then((ended) => {
        this.#running.delete(running);
        this.#byRef.set(ref, ended);
        this.#onEnd(ref);
        this.#waiting.shift()?.();
      });
    this.#running.add(running);
  }

  /** Returns the result and forgets it. */
  take(ref: ObjectRef): Ended<T> | "running" | undefined {
    const known = this.#byRef.get(ref);
    if (known !== "running") this.#byRef.delete(ref);
    return known;
  }

  /** Returns a result that could not be used, so that the next `take` returns it again. */
  keep(ref: ObjectRef, ended: Ended<T>): void {
    this.#byRef.set(ref, ended);
  }

  /** Resolves when no work is running. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

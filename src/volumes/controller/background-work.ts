// Work that takes longer than a worker may wait: changes in the cloud, until they have ended. When it ends, its object is enqueued again.
// It belongs to one leadership session, and each result to the object for which the work was started.

import type { ObjectRef } from "./object-ref.ts";

export type Ended<T> = { readonly value: T } | { readonly error: unknown };

export class BackgroundWork<T> {
  readonly #onEnd: (ref: ObjectRef) => void;
  readonly #byRef = new Map<ObjectRef, Ended<T> | "running">();
  readonly #running = new Set<Promise<void>>();
  readonly #limit: number;
  /** Work beyond the limit: it begins when running work ends. */
  readonly #waiting: (() => void)[] = [];

  constructor(onEnd: (ref: ObjectRef) => void, limit = Number.POSITIVE_INFINITY) {
    this.#onEnd = onEnd;
    this.#limit = limit;
  }

  /** One change at a time for each object: call it after `take` has returned undefined. */
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

  /** Forgets the result that it returns. */
  take(ref: ObjectRef): Ended<T> | "running" | undefined {
    const known = this.#byRef.get(ref);
    if (known !== "running") this.#byRef.delete(ref);
    return known;
  }

  /** Gives a result back that could not be used: the next `take` returns it. */
  keep(ref: ObjectRef, ended: Ended<T>): void {
    this.#byRef.set(ref, ended);
  }

  /** Resolves when nothing runs. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

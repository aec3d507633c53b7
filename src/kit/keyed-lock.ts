// A lock per key, for data that a cloud lets clients read and write only as a whole and without a
// precondition, such as the tags of an object that several Services share.

import { abortable } from "../runtime/abortable.ts";

/**
 * Runs one piece of work per key at a time. A lock within the process suffices, because only the
 * leader changes the cloud. Hold the lock for the read and the write, not while the cloud processes
 * the change.
 *
 * @example
 * await locks.run(balancer.id, call.signal, async () => {
 *   const { tags } = await api.balancer(balancer.id, call);
 *   await api.setTags(balancer.id, [...tags, mark], call);
 * });
 */
export class KeyedLock {
  /** The end of each key's running work; keys without running work have no entry. */
  readonly #running = new Map<string, Promise<void>>();

  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let other = this.#running.get(key); other !== undefined; other = this.#running.get(key))
      await abortable(other, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.set(key, promise);
    try {
      return await work();
    } finally {
      this.#running.delete(key);
      resolve();
    }
  }
}

// A lock per key, for what a cloud lets clients read and write only as a whole and without a precondition, such as the tags of an object
// that several Services share.

import { abortable } from "../runtime/abortable.ts";

/**
 * Runs one piece of work per key at a time. Within the process is enough: only the leader changes the cloud. Hold it for the read and the
 * write, not while the cloud works on the change.
 *
 * @example
 * await locks.run(balancer.id, call.signal, async () => {
 *   const { tags } = await api.balancer(balancer.id, call);
 *   await api.setTags(balancer.id, [...tags, mark], call);
 * });
 */
export class KeyedLock {
  /** When the running work of a key ends, only while there is some. */
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

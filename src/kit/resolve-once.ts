// Reads a value once for the life of a connection: an id that a name in the settings stands for. `connect` makes no request, so
// the first call that needs the value reads it.

import type { Call } from "../provider/call.ts";

interface Running<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  callers: number;
}

/**
 * Returns a function that reads the value at the first call and keeps it. Concurrent callers share one request; a caller that is
 * cancelled does not cancel it for the others. A failure is not kept: the next call reads again. A reload of the settings makes
 * another connection, which reads it again.
 *
 * Use it for what a name in the settings stands for and cannot change, such as the id of a network. Never use it for what may
 * change: addresses, states, limits.
 *
 * @example
 * const networkID = resolveOnce(async (call) => (await api.networkNamed(settings.network, call)).id);
 * // In any function that has a call:
 * const id = await networkID(call);
 */
export function resolveOnce<T>(read: (call: Call) => Promise<T>): (call: Call) => Promise<T> {
  const value = new OnceRead(read);
  return (call) => value.get(call);
}

class OnceRead<T> {
  readonly #read: (call: Call) => Promise<T>;
  #known: { readonly value: T } | undefined;
  #running: Running<T> | undefined;

  constructor(read: (call: Call) => Promise<T>) {
    this.#read = read;
  }

  async get(call: Call): Promise<T> {
    call.signal.throwIfAborted();
    if (this.#known !== undefined) return this.#known.value;
    this.#running ??= this.#begin(call);
    const running = this.#running;
    running.callers += 1;
    const cancelled = Promise.withResolvers<never>();
    const cancel = (): void => cancelled.reject(call.signal.reason);
    call.signal.addEventListener("abort", cancel, { once: true });
    try {
      return await Promise.race([running.result, cancelled.promise]);
    } finally {
      call.signal.removeEventListener("abort", cancel);
      this.#leave(running, call.signal.reason);
    }
  }

  #begin(call: Call): Running<T> {
    const stop = new AbortController();
    return { result: this.#readAndKeep({ ...call, signal: stop.signal }), stop, callers: 0 };
  }

  async #readAndKeep(call: Call): Promise<T> {
    const value = await this.#read(call);
    this.#known = { value };
    return value;
  }

  /** The last caller ends the request. It has an answer or a failure then, or all callers were cancelled. */
  #leave(running: Running<T>, reason: unknown): void {
    running.callers -= 1;
    if (running.callers > 0) return;
    if (this.#running === running) this.#running = undefined;
    running.stop.abort(reason);
  }
}

// Reads a value once per connection, such as the id of an object that a setting names. `connect` makes no request, so the first
// call that needs the value reads it.

import type { Call } from "../provider/call.ts";
import { abortable } from "../runtime/abortable.ts";

interface Running<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  callers: number;
}

/**
 * Returns a function that reads the value at the first call and keeps it. Concurrent callers share a request; cancelling one
 * caller does not affect the others. A failure is not kept, so the next call reads again. A reload of the settings opens a new
 * connection, which reads the value again.
 *
 * Use this for ids that cannot change, such as the id of a network that the settings name. Never use it for values that may
 * change: addresses, states, limits.
 *
 * @example
 * const networkID = resolveOnce(async (call) => (await api.networkNamed(settings.network, call)).id);
 * // In any function that has a call:
 * const id = await networkID(call);
 */
export function resolveOnce<T>(read: (call: Call) => Promise<T>): (call: Call) => Promise<T> {
  let known: { readonly value: T } | undefined;
  let running: Running<T> | undefined;
  const readAndKeep = async (call: Call): Promise<T> => {
    const value = await read(call);
    known = { value };
    return value;
  };
  const begin = (call: Call): Running<T> => {
    const stop = new AbortController();
    return { result: readAndKeep({ ...call, signal: stop.signal }), stop, callers: 0 };
  };
  return async (call) => {
    call.signal.throwIfAborted();
    if (known !== undefined) return known.value;
    running ??= begin(call);
    const joined = running;
    joined.callers += 1;
    try {
      return await abortable(joined.result, call.signal);
    } finally {
      joined.callers -= 1;
      // The last caller ends the request, which by then has succeeded or failed, or has no callers left.
      if (joined.callers === 0) {
        if (running === joined) running = undefined;
        joined.stop.abort(call.signal.reason);
      }
    }
  };
}

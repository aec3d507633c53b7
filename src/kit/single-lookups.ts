// Looks up machines one by one, for clouds that cannot look up several at once.

import type { Call } from "../provider/call.ts";
import type { Instance, InstanceLookup } from "../provider/instances.ts";
import { ifFound } from "./deletions.ts";

/**
 * A lookup with one request per key. `read` returns what the cloud has for the key: one object, several, or "not found", which means
 * that there is none.
 *
 * @example
 * lookups: { id: lookupEach((id, call) => read<ApiServer>("servers", id, call), toInstance) }
 */
export function lookupEach<T>(
  read: (key: string, call: Call) => Promise<T | readonly T[]>,
  toInstance: (found: T) => Instance,
): InstanceLookup {
  const find: InstanceLookup["find"] = async ([key = ""], call) => {
    const found = await ifFound(read(key, call));
    const all = found === undefined ? [] : Array.isArray(found) ? (found as readonly T[]) : [found as T];
    return new Map([[key, all.map(toInstance)]]);
  };
  return { limit: 1, find };
}

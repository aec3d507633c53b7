// Looks up machines one by one, for clouds that cannot look up several at once.

import type { Call } from "../provider/call.ts";
import type { Instance, InstanceLookup } from "../provider/instances.ts";
import { ifFound } from "./deletions.ts";

/**
 * A lookup with one request per key. `read` returns what the cloud has for the key: one machine, several, or "not found", which means
 * that there is none.
 *
 * @example
 * lookups: { id: lookupEach(async (id, call) => toInstance(await read<ApiServer>("servers", id, call))) }
 */
export function lookupEach(
  read: (key: string, call: Call) => Promise<Instance | readonly Instance[]>,
): InstanceLookup {
  const find: InstanceLookup["find"] = async ([key = ""], call) =>
    new Map([[key, [(await ifFound(read(key, call))) ?? []].flat()]]);
  return { limit: 1, find };
}

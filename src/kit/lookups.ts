// Looks up single objects: an object that may be missing, the proof that an object is gone, and machines with one request each.

import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Instance, InstanceLookup } from "../provider/instances.ts";

/** Whether the cloud reports that the object does not exist. A failed lookup proves nothing and returns false. */
export async function isGone(lookup: () => Promise<unknown>): Promise<boolean> {
  try {
    await lookup();
    return false;
  } catch (error) {
    if (!CloudError.is(error)) throw error;
    return error.kind === "not-found";
  }
}

/** The object that a request returns; undefined if it does not exist. Other errors are thrown. */
export async function ifFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (CloudError.is(error) && error.kind === "not-found") return undefined;
    throw error;
  }
}

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

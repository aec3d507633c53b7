// Changes an object that several clients write, without overwriting their changes: reads it, and writes it back only if it is
// still the same.

import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { JsonApi, Query } from "./json-api.ts";

/** The object that `updateWithETag` changes. */
export interface ETagTarget {
  readonly path: string;
  /** The cloud's names of the two operations. */
  readonly operations: { readonly read: string; readonly write: string };
  /** `PUT` when absent. */
  readonly method?: "PUT" | "PATCH" | "POST";
  readonly query?: Query;
}

/** Further attempts are the framework's: with backoff, and visible to the user. */
const attempts = 3;

async function attempt<T>(
  api: JsonApi,
  { path, operations, method = "PUT", query }: ETagTarget,
  change: (current: T) => T | undefined,
  call: Call,
): Promise<T | undefined> {
  const { body, headers } = await api.answer<T>(
    { operation: operations.read, method: "GET", path, query },
    call,
  );
  const changed = change(body);
  if (changed === undefined) return undefined;
  const etag = headers.get("etag");
  if (etag === null) {
    const text = `${operations.read} returned no ETag, so ${operations.write} could overwrite the change of another client. Nothing was written.`;
    throw new CloudError("unavailable", text, { operation: operations.read });
  }
  const request = { operation: operations.write, method, path, query, body: changed };
  await api.call<unknown>({ ...request, headers: { "if-match": etag } }, call);
  return changed;
}

/**
 * Reads an object, changes it, and writes it with `If-Match`. When another client has changed it in between, reads and changes it
 * again, at most three times; then the cloud's `conflict` is thrown, and the framework tries again later. `change` is pure, and
 * returns undefined when nothing is to be changed. Returns what was written, if anything. Not for `RoutesAsDocument.change`, whose
 * changes are planned from one revision.
 *
 * @example
 * await updateWithETag<Network>(
 *   api,
 *   { path: `/networks/${id}`, operations: { read: "GetNetwork", write: "PutNetwork" } },
 *   (network) => ({ ...network, routes: [...network.routes, route] }),
 *   call,
 * );
 */
export async function updateWithETag<T>(
  api: JsonApi,
  target: ETagTarget,
  change: (current: T) => T | undefined,
  call: Call,
): Promise<T | undefined> {
  for (let count = 1; ; count++) {
    try {
      return await attempt(api, target, change, call);
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "conflict" || count >= attempts) throw error;
    }
  }
}

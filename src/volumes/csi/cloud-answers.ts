// The common behavior of calls for volumes and snapshots: cloud errors as CSI errors, shared listings, and one call at a time for
// each object.

import { type Milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError, type CloudErrorKind } from "../../provider/errors.ts";
import { abortable } from "../../runtime/abortable.ts";
import { RpcError, type StatusCode } from "../grpc/status.ts";

/**
 * For sidecars, `ABORTED` and `UNAVAILABLE` mean that the request may have had an effect, so they repeat it until the result is
 * definite.
 */
const codes = {
  "not-found": "NOT_FOUND",
  conflict: "ABORTED",
  busy: "ABORTED",
  invalid: "INVALID_ARGUMENT",
  quota: "RESOURCE_EXHAUSTED",
  unauthorized: "UNAUTHENTICATED",
  forbidden: "PERMISSION_DENIED",
  "rate-limited": "UNAVAILABLE",
  unavailable: "UNAVAILABLE",
} as const satisfies Record<CloudErrorKind, StatusCode>;

/** The cloud reports a change as done but still shows it in progress. */
export const checkAfter: Milliseconds = seconds(1);

function toRpcError(error: unknown): unknown {
  return CloudError.is(error) ? new RpcError(codes[error.kind], messageOf(error), { cause: error }) : error;
}

/** Listings of the cloud, one at a time. */
export class SerialListing<T> {
  readonly #list: (call: Call) => AsyncIterable<readonly T[]>;
  readonly #life: AbortSignal;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<readonly T[]> | undefined;
  /** The entries of the last complete listing; undefined before the first listing. */
  latest: readonly T[] | undefined;

  constructor(list: (call: Call) => AsyncIterable<readonly T[]>, life: AbortSignal) {
    this.#list = list;
    this.#life = life;
  }

  /** All entries, from a listing that begins after this call. Calls that arrive before it begins share it. */
  next(signal: AbortSignal): Promise<readonly T[]> {
    this.#next ??= this.#begin();
    return abortable(this.#next, signal);
  }

  /** Only a response to the creation is a definite failure, because an earlier request may have created the object. */
  async beforeCreation(signal: AbortSignal): Promise<readonly T[]> {
    try {
      return await this.next(signal);
    } catch (error) {
      if (!CloudError.is(error)) throw error;
      throw new RpcError("UNAVAILABLE", messageOf(error), { cause: error });
    }
  }

  async #begin(): Promise<readonly T[]> {
    await this.#running.catch(() => undefined);
    this.#next = undefined;
    const listing = this.#listAll();
    this.#running = listing;
    return listing;
  }

  async #listAll(): Promise<readonly T[]> {
    const all: T[] = [];
    for await (const page of this.#list(userCall(this.#life))) all.push(...page);
    this.latest = all;
    return all;
  }
}

export function userCall(signal: AbortSignal): Call {
  return { signal, urgency: "user-change" };
}

/** Runs the work, and converts cloud errors to CSI errors. */
export async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toRpcError(error);
  }
}

/** Rejects a call about an object that another call is processing. */
export class OneCallEach {
  readonly #what: string;
  /** Names and ids of objects in use. */
  readonly #busy = new Set<string>();

  constructor(what: string) {
    this.#what = what;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy.has(key))
      throw new RpcError("ABORTED", `Another call works on the ${this.#what} ${key}. Try again.`);
    this.#busy.add(key);
    try {
      return await answered(work());
    } finally {
      this.#busy.delete(key);
    }
  }
}

/** The cloud reports a change that reads do not show. */
export function changeNotSeen(claimed: string, actual: string): RpcError {
  return new RpcError("UNAVAILABLE", `${claimed} according to the cloud, but it ${actual}. Try again.`);
}

/** A lookup and a cloud listing disagree. */
export function contradicted(lookedUp: string, listing: string): RpcError {
  return new RpcError(
    "UNAVAILABLE",
    `${lookedUp} according to a lookup, but a cloud listing ${listing}. It counts as unchanged. Try again.`,
  );
}

/** Undefined if there is no object with this name. */
export function oneNamed<T extends { readonly id: string; readonly name: string }>(
  what: string,
  name: string,
  all: readonly T[],
): T | undefined {
  // A listing whose pages shift repeats entries; the last copy is the newest.
  const named = all.filter((each) => each.name === name).map((each) => [each.id, each] as const);
  const found = [...new Map(named).values()];
  if (found.length <= 1) return found[0];
  throw new RpcError(
    "INTERNAL",
    `${found.length} ${what} have the name ${name}: ${found.map(({ id }) => id).join(", ")}. None is used. Delete those without data in the cloud.`,
  );
}

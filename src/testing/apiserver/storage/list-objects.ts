// Lists objects, whole or in pages. All pages of a listing come from one revision; the remaining items are kept until they
// expire.

import { messageOf } from "../../../core/error-message.ts";
import type { Clock } from "../../../platform/clock.ts";
import { ApiError, badRequest, expired, forbiddenField, invalid } from "../objects/api-error.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Store } from "./object-store.ts";

export interface Page {
  readonly items: readonly KubeObject[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

/** The items of a listing that have not been sent yet. */
interface Continuation {
  readonly items: readonly KubeObject[];
  readonly revision: number;
  readonly createdAt: number;
}

const continuationLifetime = 5 * 60_000;
const maxContinuations = 64;

const tooOldToContinue =
  "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.";

export const isTrue = (value: string | null): boolean => value === "true" || value === "1";

export function readRevision(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

export function listOptionsInvalid(field: string, why: string): ApiError {
  return invalid("ListOptions", "meta.k8s.io", "", [forbiddenField(field, why)]);
}

function tooLarge(wanted: number, current: number): ApiError {
  return new ApiError(504, "Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

export class Lister {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #continuations = new Map<string, Continuation>();
  #serial = 0;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  list(
    storage: string,
    namespace: string,
    matches: (object: KubeObject) => boolean,
    query: URLSearchParams,
  ): Page {
    const limit = Number(query.get("limit") ?? 0);
    const token = query.get("continue") ?? "";
    const match = query.get("resourceVersionMatch");
    const wanted = readRevision(query.get("resourceVersion"));
    if (query.has("sendInitialEvents")) {
      throw listOptionsInvalid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if (token !== "") return this.#continue(token, limit);
    if (match !== null && match !== "" && wanted === undefined) {
      throw listOptionsInvalid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden unless resourceVersion is provided",
      );
    }
    const { revision } = this.#store;
    if (wanted !== undefined && wanted > revision) throw tooLarge(wanted, revision);
    const changed =
      match === "Exact" && wanted !== undefined ? this.#store.changesSince(storage, wanted) : [];
    if (changed === undefined || changed.length > 0) {
      throw expired("The resourceVersion for the provided list is too old.");
    }
    const items = this.#store.list(storage, namespace).filter(matches);
    return this.#page(items, match === "Exact" ? (wanted ?? revision) : revision, limit);
  }

  /** Expires all unfinished listings: the next page of each is answered with 410. */
  expireContinuations(): void {
    this.#continuations.clear();
  }

  #page(items: readonly KubeObject[], revision: number, limit: number): Page {
    if (!(limit > 0) || items.length <= limit) return { items, revision };
    const now = this.#clock.monotonic();
    for (const [id, { createdAt }] of this.#continuations) {
      if (now - createdAt < continuationLifetime && this.#continuations.size < maxContinuations) break;
      this.#continuations.delete(id);
    }
    const id = String(++this.#serial);
    const remaining = items.slice(limit);
    this.#continuations.set(id, { items: remaining, revision, createdAt: now });
    const token = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", id })).toString("base64url");
    return { items: items.slice(0, limit), revision, continueToken: token, remaining: remaining.length };
  }

  #continue(token: string, limit: number): Page {
    const continuation = this.#continuations.get(readToken(token));
    if (
      continuation === undefined ||
      this.#clock.monotonic() - continuation.createdAt >= continuationLifetime
    ) {
      throw expired(tooOldToContinue);
    }
    return this.#page(continuation.items, continuation.revision, limit);
  }
}

/** The id of the continuation. */
function readToken(token: string): string {
  try {
    const { v, id } = JSON.parse(Buffer.from(token, "base64url").toString()) as Record<string, unknown>;
    if (v !== "meta.k8s.io/v1") throw new TypeError("unknown token");
    return String(id);
  } catch (cause) {
    const why = `invalid continue token: continue key is not valid: ${messageOf(cause)}`;
    throw Object.assign(badRequest(why), { cause });
  }
}

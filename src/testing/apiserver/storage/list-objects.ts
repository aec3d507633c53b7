// Lists objects, whole or in pages. All pages of a listing come from one revision; the remaining items are kept until they
// expire.

import type { Clock } from "../../../platform/clock.ts";
import { ApiError, badRequest, expired, forbiddenField, invalid } from "../objects/api-error.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Store } from "./store.ts";

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
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

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
    if (token !== "") return this.#continue(storage, namespace, matches, token, limit);
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
    const last = items[limit - 1];
    const now = this.#clock.monotonic();
    for (const [id, { createdAt }] of this.#continuations) {
      if (now - createdAt < continuationLifetime && this.#continuations.size < maxContinuations) break;
      this.#continuations.delete(id);
    }
    const id = String(++this.#serial);
    const remaining = items.slice(limit);
    this.#continuations.set(id, { items: remaining, revision, createdAt: now });
    const start = `${last?.metadata.namespace ?? ""}/${last?.metadata.name ?? ""}`;
    const token = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start, id })).toString(
      "base64url",
    );
    return { items: items.slice(0, limit), revision, continueToken: token, remaining: remaining.length };
  }

  #continue(
    storage: string,
    namespace: string,
    matches: (object: KubeObject) => boolean,
    token: string,
    limit: number,
  ): Page {
    const { id, start, rv } = readToken(token);
    const continuation = this.#continuations.get(id);
    if (rv === -1) {
      // An inconsistent continuation: the current objects after that name.
      const later = this.#store
        .list(storage, namespace)
        .filter(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}` > start)
        .filter(matches);
      return this.#page(later, this.#store.revision, limit);
    }
    if (
      continuation === undefined ||
      this.#clock.monotonic() - continuation.createdAt >= continuationLifetime
    ) {
      const inconsistent = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: -1, start, id })).toString(
        "base64url",
      );
      throw expired(tooOldToContinue, { continue: inconsistent });
    }
    return this.#page(continuation.items, continuation.revision, limit);
  }
}

function readToken(token: string): { id: string; start: string; rv: number } {
  try {
    const { v, id, start, rv } = JSON.parse(Buffer.from(token, "base64url").toString()) as Record<
      string,
      unknown
    >;
    if (v !== "meta.k8s.io/v1" || typeof rv !== "number") throw new TypeError("unknown token");
    return { id: String(id), start: String(start), rv };
  } catch (cause) {
    throw Object.assign(
      badRequest(
        `invalid continue token: continue key is not valid: ${cause instanceof Error ? cause.message : cause}`,
      ),
      { cause },
    );
  }
}

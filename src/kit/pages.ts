// Reads paged listings: a stream of pages that is complete or throws. The provider requests one page; these functions make
// sure that none is missing.

import { willRetry } from "../core/retry-promise.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { JsonApi, Query } from "./json-api.ts";

/** Options of all `pagesBy…` functions. */
export interface PagesOptions {
  /** The cloud's name of the operation, for errors. */
  readonly operation: string;
}

/** A page of a listing, as the provider reads it from a response. */
export interface Page<T, N extends number | string> {
  /** The entries. Any value other than an array makes the listing fail, so pass the body's field unchecked. */
  readonly items: readonly T[] | undefined;
  /**
   * The total number of entries, if the cloud reports it. A listing with fewer entries fails. With a total, `pagesByNumber`
   * requests several pages at once, and detects removed entries.
   */
  readonly total?: number | undefined;
  /** The number or cursor of the next page; undefined, null or an empty string after the last page. */
  readonly next: N | null | undefined;
}

function broken(operation: string, what: string): CloudError {
  return new CloudError("unavailable", `${operation}: ${what}. The listing is discarded.`, {
    operation,
    promise: willRetry,
  });
}

/** Earlier pages that were reread after this page, because entries had moved to them. */
interface Moved<T> {
  readonly moved?: readonly (readonly T[])[];
}

/** More pages are treated as an endless loop. */
const maxPages = 10_000;

async function* follow<T, N extends string | number>(
  { operation }: PagesOptions,
  first: N | undefined,
  read: (at: N | undefined) => Promise<Page<T, N> & Moved<T>>,
): AsyncGenerator<readonly T[], void, undefined> {
  const visited = new Set<N>();
  let at = first;
  let count = 0;
  for (let pages = 1; ; pages++) {
    if (pages > maxPages) throw broken(operation, `there are more than ${maxPages} pages`);
    if (at !== undefined) visited.add(at);
    const page = await read(at);
    if (!Array.isArray(page.items)) throw broken(operation, `page ${pages} contains no list`);
    count += page.items.length;
    const { next } = page;
    const isLast = next === undefined || next === null || next === "";
    // The total of the last page is used, because entries may have been added. With fewer entries, some were missed.
    if (isLast && page.total !== undefined && count < page.total) {
      throw broken(operation, `received ${count} of ${page.total} entries`);
    }
    if (!isLast && visited.has(next)) throw broken(operation, `page ${pages} links back to an earlier page`);
    for (const items of [page.items, ...(page.moved ?? [])]) if (items.length > 0) yield items;
    if (isLast) return;
    at = next;
  }
}

/**
 * Numbered pages: `?page=1`, `?page=2`, … `next` is the number of the next page, and unset after the last page. With `total`,
 * up to eight pages are requested simultaneously, within the rate limit; they are returned in order, and checked as if they had
 * been requested sequentially. If entries are removed or added in the meantime, some entries may be returned twice, but none is
 * missed, unless as many are added as are removed: then the total shows nothing.
 *
 * @example
 * pagesByNumber<ApiServer>({ operation: "GET /servers" }, async (page) => {
 *   const body = await api.call<Body>({ operation: "GET /servers", method: "GET", path: "/servers", query: { page } }, call);
 *   return { items: body.servers, total: body.total, next: body.next };
 * })
 */
export async function* pagesByNumber<T>(
  options: PagesOptions,
  read: (page: number) => Promise<Page<T, number>>,
): AsyncGenerator<readonly T[], void, undefined> {
  const ahead = new ReadAhead(options, read);
  try {
    yield* follow<T, number>(options, 1, (at = 1) => ahead.page(at));
  } finally {
    // No request outlives the listing.
    await ahead.end();
  }
}

/** Pages with an opaque cursor, or with the URL of the next page in the body. */
export function pagesByCursor<T>(
  options: PagesOptions,
  read: (cursor: string | undefined) => Promise<Page<T, string>>,
): AsyncGenerator<readonly T[], void, undefined> {
  return follow(options, undefined, read);
}

/** All entries of a listing. */
export async function collect<T>(pages: AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

/**
 * The pages of a listing with each entry converted.
 *
 * @example
 * list: (call) => mapEntries(api.volumes(call), toObserved),
 */
export async function* mapEntries<T, R>(
  pages: AsyncIterable<readonly T[]>,
  map: (entry: T) => R,
): AsyncGenerator<readonly R[], void, undefined> {
  for await (const page of pages) yield page.map(map);
}

/**
 * A function that lists any collection of an API with uniform listings: the member of the body with the collection's name
 * contains the entries, and pages have numbers. `query` is sent with each page, and `read` reads the rest of the body.
 *
 * @example
 * const pages = numberedPages<{ meta?: { total: number; next: number | null } }>(api, {
 *   query: { per_page: 50 },
 *   read: ({ meta }) => ({ total: meta?.total, next: meta?.next }),
 * });
 * const servers = pages<ApiServer>("servers", call, { name });
 * const actions = pages<ApiAction>("servers/{id}/actions", call, {}, id);   // the member "actions"
 */
export function numberedPages<B extends object>(
  api: JsonApi,
  options: {
    readonly query: Query;
    readonly read: (body: B) => Omit<Page<unknown, number>, "items">;
  },
): <T>(collection: string, call: Call, query?: Query, id?: string) => AsyncGenerator<readonly T[], void> {
  return <T>(collection: string, call: Call, query: Query = {}, id = "") => {
    const operation = `GET /${collection}`;
    const path = `/${collection.replace("{id}", encodeURIComponent(id))}`;
    const member = collection.split("/").at(-1) ?? "";
    return pagesByNumber<T>({ operation }, async (page) => {
      const all = { ...options.query, ...query, page };
      const body = await api.call<B>({ operation, method: "GET", path, query: all }, call);
      // `pagesByNumber` checks that it is an array.
      const items = (body as Readonly<Record<string, unknown>>)[member] as Page<T, number>["items"];
      return { items, ...options.read(body) };
    });
  };
}

/**
 * A function that reads any object of an API with uniform objects: the member of the body has the collection's name without its
 * last letter.
 *
 * @example
 * const read = objectReader(api);
 * const server = await read<ApiServer>("servers", id, call);   // the member "server" of GET /servers/{id}
 */
export function objectReader(
  api: JsonApi,
): <T>(collection: string, id: string | number, call: Call) => Promise<T> {
  return async <T>(collection: string, id: string | number, call: Call) => {
    const member = collection.slice(0, -1);
    const [operation, path] = [`GET /${collection}/{id}`, `/${collection}/${id}`];
    const request = { operation, method: "GET", path, expects: [member] } as const;
    const body = await api.call<Readonly<Record<string, T>>>(request, call);
    return body[member] as T;
  };
}

/** Half of the requests that an account may have in flight, because a listing must not delay changes by users. */
const maxInFlight = 8;

type Outcome<P> = { readonly page: P } | { readonly error: unknown };

/**
 * Requests numbered pages ahead of their turn, once the total shows how many there are. Pages are returned in order, and a page
 * that may be older than an earlier one is requested again at its turn.
 */
class ReadAhead<T> {
  readonly #options: PagesOptions;
  readonly #read: (page: number) => Promise<Page<T, number>>;
  readonly #ahead = new Map<number, Promise<Outcome<Page<T, number>>>>();
  /** The size of the first page; zero until it is known. */
  #size = 0;
  /** The previous page. */
  #before: Page<T, number> = { items: [], next: null };
  #requested = 1;
  #width = maxInFlight;

  constructor(options: PagesOptions, read: (page: number) => Promise<Page<T, number>>) {
    this.#options = options;
    this.#read = read;
  }

  async page(number: number): Promise<Page<T, number> & Moved<T>> {
    const page = (await this.#takeAhead(number)) ?? (await this.#read(number));
    const moved = await this.#readMoved(number, page);
    this.#before = page;
    this.#requestAhead(number, page);
    return { ...page, moved };
  }

  /** Resolves when no request is in flight. */
  async end(): Promise<void> {
    await Promise.all(this.#ahead.values());
  }

  /**
   * Removed entries shift later entries to pages that were already read. Rereads these pages, from the last one to the first,
   * because entries may also move during these reads.
   */
  async #readMoved(number: number, page: Page<T, number>): Promise<readonly (readonly T[])[]> {
    const { total = 0, items = [] } = this.#before;
    const moved: T[][] = [];
    let removed = total - (page.total ?? total);
    if (removed <= 0) return moved;
    const known = new Set([...items, ...(page.items ?? [])].map((entry) => JSON.stringify(entry)));
    for (let at = number - 1; at > 0 && removed > (number - 1 - at) * this.#size; at -= 1) {
      const again = await this.#read(at);
      if (!Array.isArray(again.items)) throw broken(this.#options.operation, `page ${at} contains no list`);
      moved.push(again.items.filter((entry) => !known.has(JSON.stringify(entry))));
      removed = total - (again.total ?? 0);
    }
    return moved;
  }

  /** Undefined if this page must be requested at its turn. */
  async #takeAhead(number: number): Promise<Page<T, number> | undefined> {
    const outcome = await this.#ahead.get(number);
    this.#ahead.delete(number);
    if (outcome === undefined) return undefined;
    if ("page" in outcome) {
      // Entries may have moved to the previous page between the two requests.
      const mayBeOlder =
        Array.isArray(outcome.page.items) && (outcome.page.total ?? 0) < (this.#before.total ?? 0);
      return mayBeOlder ? undefined : outcome.page;
    }
    if (!isRateLimited(outcome.error)) throw outcome.error;
    // The cloud accepts few simultaneous requests.
    this.#width = 0;
    return undefined;
  }

  #requestAhead(number: number, { items, total, next }: Page<T, number>): void {
    if (this.#size === 0) this.#size = items?.length ?? 0;
    // Without these values, it is unknown whether a page with that number exists.
    if (total === undefined || this.#size === 0 || next !== number + 1) return;
    const last = Math.min(Math.ceil(total / this.#size), maxPages, number + this.#width);
    for (let ahead = Math.max(next, this.#requested + 1); ahead <= last; ahead += 1) {
      this.#requested = ahead;
      this.#ahead.set(ahead, this.#outcomeOf(ahead));
    }
  }

  /** Never rejects: an error is reported when it is the page's turn. */
  async #outcomeOf(number: number): Promise<Outcome<Page<T, number>>> {
    try {
      return { page: await this.#read(number) };
    } catch (error) {
      return { error };
    }
  }
}

function isRateLimited(error: unknown): boolean {
  return CloudError.is(error) && error.kind === "rate-limited";
}

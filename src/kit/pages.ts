// Collections that a cloud hands out in pages, as one stream of pages that is complete or throws. Asking for one page is
// the provider's part; knowing that none is missing is this file's.

import { CloudError } from "../provider/errors.ts";

export interface Page<T> {
  /** Absent or no list means that the answer is broken, whatever its type promised. */
  readonly items: readonly T[] | undefined;
  /** How many there are in all, where the cloud says. */
  readonly total?: number | undefined;
}

export interface PagesOptions {
  /** As in errors: the operation that is paged. */
  readonly operation: string;
  /** More than this is taken for a loop. */
  readonly maxPages?: number;
}

/** The cursor, link or page number of the next page; nothing (undefined, null, an empty text) after the last. */
type Next<N> = N | "" | null | undefined;

function broken(operation: string, what: string): CloudError {
  return new CloudError("unavailable", `${operation}: ${what}; the listing is not used.`, { operation });
}

async function* follow<T, N extends string | number, P extends Page<T>>(
  options: PagesOptions,
  first: N | undefined,
  read: (at: N | undefined) => Promise<P>,
  nextOf: (page: P, items: readonly T[], at: N | undefined) => Next<N>,
): AsyncGenerator<readonly T[], void, undefined> {
  const { operation, maxPages = 10_000 } = options;
  const visited = new Set<N>();
  let at = first;
  let count = 0;
  let most = 0;
  for (let pages = 1; ; pages++) {
    if (pages > maxPages) throw broken(operation, `there are more than ${maxPages} pages`);
    if (at !== undefined) visited.add(at);
    const page = await read(at);
    if (!Array.isArray(page.items)) throw broken(operation, `page ${pages} holds no list`);
    count += page.items.length;
    // Fewer than before: one was removed meanwhile, and may have moved another across the edge of a page already read.
    if (page.total !== undefined && page.total < most) {
      throw broken(operation, `entries were removed while they were listed (${most}, then ${page.total})`);
    }
    most = Math.max(most, page.total ?? 0);
    const next = nextOf(page, page.items, at);
    const isLast = next === undefined || next === null || next === "";
    // The last page's word counts: machines may have been added meanwhile. Fewer than it says means that some slipped
    // through, or that one removed on the way moved another across a page's edge.
    if (isLast && page.total !== undefined && count < page.total) {
      throw broken(operation, `${count} of ${page.total} entries came`);
    }
    if (!isLast && visited.has(next)) throw broken(operation, `page ${pages} leads back to an earlier one`);
    if (page.items.length > 0) yield page.items;
    if (isLast) return;
    at = next;
  }
}

/** `?page=1`, `?page=2`, …; the cloud names the next page, or nothing after the last. */
export function pagesByNumber<T>(
  options: PagesOptions,
  read: (page: number) => Promise<Page<T> & { readonly next: number | null | undefined }>,
): AsyncGenerator<readonly T[], void, undefined> {
  return follow<T, number, Page<T> & { readonly next: number | null | undefined }>(
    options,
    1,
    (at) => read(at ?? 1),
    ({ next }) => next,
  );
}

/** An opaque cursor, or the address of the next page as the body gives it. */
export function pagesByCursor<T>(
  options: PagesOptions,
  read: (cursor: string | undefined) => Promise<Page<T> & { readonly next: string | null | undefined }>,
): AsyncGenerator<readonly T[], void, undefined> {
  return follow(options, undefined, read, ({ next }) => next);
}

/** The address of the next page in a `Link` header. */
export function pagesByLink<T>(
  options: PagesOptions,
  read: (url: string | undefined) => Promise<Page<T> & { readonly headers: Headers }>,
): AsyncGenerator<readonly T[], void, undefined> {
  return follow(options, undefined, read, ({ headers }) => nextLink(headers.get("link")));
}

/** The id of the last entry seen; only an empty page is the end, for a short one may be short for other reasons. */
export function pagesByMarker<T>(
  options: PagesOptions,
  read: (marker: string | undefined) => Promise<Page<T>>,
  markerOf: (item: T) => string,
): AsyncGenerator<readonly T[], void, undefined> {
  return follow<T, string, Page<T>>(options, undefined, read, (_page, items) => {
    const last = items.at(-1);
    return last === undefined ? undefined : markerOf(last);
  });
}

/** The target of `rel="next"` in a `Link` header (RFC 8288). */
export function nextLink(header: string | null): string | undefined {
  for (const [, target, parameters = ""] of (header ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(parameters);
    const words = (rel?.[1] ?? rel?.[2] ?? "").toLowerCase().split(/\s+/);
    if (words.includes("next")) return target;
  }
  return undefined;
}

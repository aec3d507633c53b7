// Pages of listings, with `links.pages` and `meta.total`, and the operations that read resources in pages.

import {
  type Answer,
  type Listing,
  numberedPage,
  type OperationRequest,
  readOperations,
  type Stored,
} from "#ccm/testing";

const sizes = { default: 20, max: 200 };

/** A page, with `view` applied to its entries. */
export function pageOf<T>(
  key: string,
  all: readonly T[],
  { url, query, lie }: OperationRequest,
  view: (entry: T) => unknown = (entry) => entry,
): Answer {
  const { page, entries, last, total } = numberedPage(all, query, sizes, lie);
  const link = (name: string, number: number, isShown: boolean) => {
    const target = new URL(url);
    target.searchParams.set("page", String(number));
    return isShown ? { [name]: target.href } : {};
  };
  const back = { ...link("first", 1, page > 1), ...link("prev", page - 1, page > 1) };
  const on = { ...link("next", page + 1, page < last), ...link("last", last, page < last) };
  const links = last > 1 ? { pages: { ...back, ...on } } : {};
  return { status: 200, body: { [key]: entries.map(view), links, meta: { total } } };
}

/** `GET /v2/things` and `GET /v2/things/{id}`. */
export function reads<T extends Stored>(plural: string, singular: string, listing: Listing<T>) {
  return readOperations(`/v2/${plural}`, [plural, singular], listing, pageOf);
}

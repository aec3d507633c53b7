// What the operations of all resources share: one resource, and pages with `links.pages` and `meta.total`.

import { type Answer, numberedPage, type OperationRequest, type Records, type Stored } from "#ccm/testing";

const sizes = { default: 20, max: 200 };

/** One page, with `view` applied to its entries. */
export function pageOf<T>(
  key: string,
  all: readonly T[],
  { url, query, lie }: OperationRequest,
  view: (entry: T) => unknown,
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

/** `GET` of a collection, and `GET` of one of its resources. */
export function readOperations<T extends Stored>(
  path: string,
  [plural, singular]: readonly [plural: string, singular: string],
  records: Records<T>,
  view: (record: T) => unknown,
  matches: (record: T, query: URLSearchParams) => boolean = () => true,
) {
  return {
    [`GET ${path}`]: (request: OperationRequest): Answer => {
      const { query, isHidden } = request;
      const shown = records.listed().filter((record) => matches(record, query) && !isHidden(record));
      return pageOf(plural, shown, request, view);
    },
    [`GET ${path}/{id}`]: ({ params, isHidden }: OperationRequest): Answer => {
      const record = existing(records, params["id"]);
      if (isHidden(record)) throw records.missing(record.id);
      return { status: 200, body: { [singular]: view(record) } };
    },
  };
}

/** The record with an id in a path. */
export function existing<T extends Stored>(records: Records<T>, id = ""): T {
  const record = records.get(/^\d+$/.test(id) ? Number(id) : id);
  if (record === undefined) throw records.missing(id);
  return record;
}

// Listings: filters, order, `include`, and pages with a marker.

import { filtersOf, matches, sorted } from "./filters.ts";
import type { View } from "./views.ts";

export interface ListingOptions {
  /** The server reduces larger pages silently. */
  readonly maxLimit: number;
  /** For tests: no filter has an effect. */
  readonly ignoresFilters: boolean;
}

export interface Collection extends ListingOptions {
  readonly resourceType: string;
  readonly url: URL;
  /** What the schema names: fields that can be filtered and sorted by. */
  readonly fields: readonly string[];
  /** Links that can be included, with the entries of an object. */
  readonly includes: Readonly<Record<string, (view: View) => readonly View[]>>;
  /** The type that can be created here, with its URL. */
  readonly createTypes: Readonly<Record<string, string>>;
}

const defaultLimit = 100;

/** Without a number the default; zero and less mean as many as possible. */
function limitOf(query: URLSearchParams, maxLimit: number): number {
  const given = query.get("limit") ?? "";
  if (!/^-?\d+$/.test(given)) return Math.min(defaultLimit, maxLimit);
  return Number(given) <= 0 ? maxLimit : Math.min(maxLimit, Number(given));
}

const offsetOf = (query: URLSearchParams): number =>
  Number(/^m(\d+)$/.exec(query.get("marker") ?? "")?.[1] ?? 0);

function withParam(url: URL, name: string, value: string): string {
  const changed = new URL(url);
  changed.searchParams.set(name, value);
  return changed.href;
}

interface Row {
  readonly view: View;
  readonly entry?: View;
}

/** With `include`, an object has one row for each entry of the link, or one without an entry. */
function rowsOf(views: readonly View[], entriesOf: ((view: View) => readonly View[]) | undefined) {
  if (entriesOf === undefined) return views.map((view): Row => ({ view }));
  return views.flatMap((view): readonly Row[] => {
    const entries = entriesOf(view);
    return entries.length === 0 ? [{ view }] : entries.map((entry) => ({ view, entry }));
  });
}

/** The objects of a page. One whose entries are on two pages is on both. */
function merged(page: readonly Row[], link: string | undefined): readonly View[] {
  if (link === undefined) return page.map(({ view }) => view);
  const byID = new Map<string, View>();
  for (const { view, entry } of page) {
    const before = (byID.get(view.id)?.[link] as readonly View[] | undefined) ?? [];
    byID.set(view.id, { ...view, [link]: [...before, ...(entry === undefined ? [] : [entry])] });
  }
  return [...byID.values()];
}

export function pageOf(all: readonly View[], collection: Collection) {
  const { resourceType, url, fields, includes, maxLimit, ignoresFilters, createTypes } = collection;
  const query = url.searchParams;
  const filters = ignoresFilters ? [] : filtersOf(query, fields);
  const chosen = all.filter((view) => matches(view, filters));
  const by = fields.find((field) => field === query.get("sort"));
  const order = query.get("order")?.trim().toLowerCase() === "desc" ? "desc" : "asc";
  const ordered = by === undefined ? chosen : sorted(chosen, by, order);
  // Only the first `include` has an effect.
  const link = Object.keys(includes).find(
    (name) => name.toLowerCase() === query.get("include")?.toLowerCase(),
  );
  const rows = rowsOf(ordered, link === undefined ? undefined : includes[link]);
  const [limit, start] = [limitOf(query, maxLimit), offsetOf(query)];
  const partial = start + limit < rows.length;
  const next = partial ? withParam(url, "marker", `m${start + limit}`) : null;
  const reverse = withParam(url, "order", order === "asc" ? "desc" : "asc");
  return {
    type: "collection",
    resourceType,
    links: { self: url.href },
    data: merged(rows.slice(start, start + limit), link),
    pagination: { limit, first: null, previous: null, next, total: null, partial },
    sort: by === undefined ? null : { name: by, order, reverse },
    sortLinks: Object.fromEntries(fields.map((field) => [field, withParam(url, "sort", field)])),
    filters: Object.fromEntries(
      fields.map((field) => {
        const own = filters.filter((filter) => filter.field === field);
        return [field, own.length === 0 ? null : own.map(({ modifier, value }) => ({ modifier, value }))];
      }),
    ),
    createTypes,
    createDefaults: {},
    actions: {},
  };
}

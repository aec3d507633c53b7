// Listings: filters `field=value` and `field_modifier=value`, order, `include`, and pages with a marker.

import type { View } from "./views.ts";

/** Ids are numbers in the database, and have a prefix for clients; other values are texts. */
const numberIn = (id: string): string => id.replace(/^\d+[a-z]+(?=\d)/, "");
const columnOf = (view: View, field: string): unknown => (field === "id" ? numberIn(view.id) : view[field]);

function inOrder(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  if (one !== "" && other !== "" && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return one < other ? -1 : one > other ? 1 : 0;
}

const isNull = (actual: unknown): boolean => actual === null || actual === undefined;
const textOf = (actual: unknown): string => (isNull(actual) ? "" : String(actual)).toLowerCase();

/** `%` stands for any text. */
function isLike(actual: unknown, value: string): boolean {
  const parts = value.toLowerCase().split("%").map(RegExp.escape);
  return new RegExp(`^${parts.join(".*")}$`, "s").test(textOf(actual));
}

const compared = (actual: unknown, value: string): number =>
  isNull(actual) ? Number.NaN : inOrder(textOf(actual), value.toLowerCase());

type Test = (actual: unknown, value: string) => boolean;

/** As in SQL, comparisons with null are never true; only `null` and `notnull` test for it. */
const tests = new Map<string, Test>([
  ["eq", (actual, value) => !isNull(actual) && textOf(actual) === value.toLowerCase()],
  ["ne", (actual, value) => !isNull(actual) && textOf(actual) !== value.toLowerCase()],
  ["lt", (actual, value) => compared(actual, value) < 0],
  ["lte", (actual, value) => compared(actual, value) <= 0],
  ["gt", (actual, value) => compared(actual, value) > 0],
  ["gte", (actual, value) => compared(actual, value) >= 0],
  ["prefix", (actual, value) => !isNull(actual) && textOf(actual).startsWith(value.toLowerCase())],
  ["like", (actual, value) => !isNull(actual) && isLike(actual, value)],
  ["notlike", (actual, value) => !isNull(actual) && !isLike(actual, value)],
  ["null", isNull],
  ["notnull", (actual) => !isNull(actual)],
]);

export const modifiers: readonly string[] = [...tests.keys()];

export interface Filter {
  readonly field: string;
  readonly modifier: string;
  readonly value: string;
}

/** The effective filters: `fields` are those that the schema names. */
function filtersOf(query: URLSearchParams, fields: readonly string[]): readonly Filter[] {
  return [...query].flatMap(([name, value]) => {
    const at = name.lastIndexOf("_");
    const [field, modifier] = at === -1 ? [name, "eq"] : [name.slice(0, at), name.slice(at + 1)];
    return fields.includes(field) && tests.has(modifier) ? [{ field, modifier, value }] : [];
  });
}

export function matches(view: View, filters: readonly Filter[]): boolean {
  return filters.every(
    ({ field, modifier, value }) => tests.get(modifier)?.(columnOf(view, field), value) === true,
  );
}

/** The entries in the order of a field; entries without the field come first. */
export function sorted(views: readonly View[], field: string, order: "asc" | "desc"): readonly View[] {
  const ascending = views.toSorted((one, other) =>
    inOrder(textOf(columnOf(one, field)), textOf(columnOf(other, field))),
  );
  return order === "asc" ? ascending : ascending.toReversed();
}

export interface ListingOptions {
  /** The server reduces larger pages silently. */
  readonly maxLimit: number;
  /** Tests set this to disable filters. */
  readonly ignoresFilters: boolean;
}

export interface Collection extends ListingOptions {
  readonly resourceType: string;
  readonly url: URL;
  /** The fields of the schema that can be filtered and sorted by. */
  readonly fields: readonly string[];
  /** The links that can be included, with the entries of an object. */
  readonly includes: Readonly<Record<string, (view: View) => readonly View[]>>;
  /** The type that can be created here, with its URL. */
  readonly createTypes: Readonly<Record<string, string>>;
}

const defaultLimit = 100;

/** Without a number, the default; zero and less mean as many as possible. */
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

/** The objects of a page. A service whose entries span two pages is on both pages. */
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

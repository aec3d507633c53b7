// Listings: filters, `include`, and pages with a marker. A filter that the API does not know has no effect.

import type { View } from "./views.ts";

export interface ListingOptions {
  /** The server refuses larger pages silently. */
  readonly maxLimit: number;
  /** For tests: no filter has an effect. */
  readonly ignoresFilters: boolean;
}

const defaultLimit = 100;

function matches(view: View, filter: string, value: string): boolean {
  const [, field = filter, modifier = "eq"] = /^(.+?)_(null|notnull|ne|prefix|like)$/.exec(filter) ?? [];
  if (!(field in view)) return true;
  const actual = view[field];
  if (modifier === "null") return actual === null || actual === undefined;
  if (modifier === "notnull") return actual !== null && actual !== undefined;
  const text = String(actual ?? "").toLowerCase();
  const wanted = value.toLowerCase();
  if (modifier === "ne") return text !== wanted;
  if (modifier === "prefix") return text.startsWith(wanted);
  if (modifier === "like") return text.includes(wanted.replaceAll("%", ""));
  return text === wanted;
}

const reserved = new Set(["limit", "marker", "include", "sort", "order"]);

/** Pages count rows: with `include`, an object has one for each entry of the link. */
export function pageOf(
  resourceType: string,
  all: readonly View[],
  url: URL,
  { rows, maxLimit, ignoresFilters }: ListingOptions & { readonly rows?: (view: View) => readonly View[] },
) {
  const query = url.searchParams;
  const filters = ignoresFilters ? [] : [...query].filter(([name]) => !reserved.has(name));
  const chosen = all.filter((view) => filters.every(([name, value]) => matches(view, name, value)));
  const link = query.get("include");
  const joined =
    rows === undefined || link === null
      ? chosen.map((view) => ({ view, entries: undefined }))
      : chosen.flatMap((view) => {
          const entries = rows(view);
          return entries.length === 0
            ? [{ view, entries: [] }]
            : entries.map((entry) => ({ view, entries: [entry] }));
        });
  const limit = Math.min(maxLimit, Number(query.get("limit") ?? defaultLimit) || maxLimit);
  const start = Number((query.get("marker") ?? "m0").slice(1));
  const page = joined.slice(start, start + limit);
  const hasMore = start + limit < joined.length;
  const next = new URL(url);
  next.searchParams.set("marker", `m${start + limit}`);
  const merged = new Map<string, View>();
  for (const { view, entries } of page) {
    const known = merged.get(view.id);
    const before = (known?.[link ?? ""] as readonly View[] | undefined) ?? [];
    merged.set(view.id, entries === undefined ? view : { ...view, [link ?? ""]: [...before, ...entries] });
  }
  return {
    type: "collection",
    resourceType,
    links: { self: url.href },
    data: [...merged.values()],
    pagination: { limit, total: null, partial: hasMore, next: hasMore ? next.href : null, previous: null },
    actions: {},
  };
}

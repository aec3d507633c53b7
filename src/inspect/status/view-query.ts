// Which part of the state the page shows: the text and the choice of the filter, and the page of each long table. Pure.

import { type Html, html } from "./html.ts";
import { counted, number } from "./words.ts";

export interface ViewQuery {
  /** Part of a name, in lower case. */
  readonly filter: string;
  readonly onlyUnsettled: boolean;
  /** Page numbers from 1, by table. */
  readonly pages: Readonly<Record<PagedTable, number>>;
}

/** Rows per page. A change needs several lines. */
const pageSizes = { nodes: 50, services: 50, volumes: 50, decisions: 20 } as const;
export type PagedTable = keyof typeof pageSizes;

function pageNumber(text: string | null): number {
  const number = Number(text);
  return Number.isSafeInteger(number) && number > 0 ? number : 1;
}

export function readQuery(query: URLSearchParams): ViewQuery {
  const pages = Object.fromEntries(Object.keys(pageSizes).map((name) => [name, pageNumber(query.get(name))]));
  return {
    filter: (query.get("filter") ?? "").trim().toLowerCase().slice(0, 200),
    onlyUnsettled: query.get("show") === "unsettled",
    pages: pages as ViewQuery["pages"],
  };
}

/** The link to another page of one table. */
export function linkTo(view: ViewQuery, table: PagedTable, page: number): string {
  const query = new URLSearchParams();
  if (view.filter !== "") query.set("filter", view.filter);
  if (view.onlyUnsettled) query.set("show", "unsettled");
  for (const [name, number] of Object.entries({ ...view.pages, [table]: page }))
    if (number > 1) query.set(name, String(number));
  return `?${query}#${table}`;
}

export interface Slice<T> {
  readonly items: readonly T[];
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

/** A page of the table; the last page if there are fewer. */
export function slice<T>(items: readonly T[], table: PagedTable, view: ViewQuery): Slice<T> {
  const size = pageSizes[table];
  const pages = Math.max(1, Math.ceil(items.length / size));
  const page = Math.min(view.pages[table], pages);
  return { items: items.slice((page - 1) * size, page * size), page, pages, total: items.length };
}

/** The length of the table, and links to the previous and the next page. */
export function pager<T>(
  view: ViewQuery,
  name: PagedTable,
  { page, pages, total }: Slice<T>,
  what: string,
): Html {
  const link = (to: number, text: string, id: string): Html =>
    html`<a id="${name}-${id}" href="${linkTo(view, name, to)}">${text}<span class="hidden"> page of ${what}</span></a>`;
  if (pages === 1) return html`<p class="pager">${counted(total, "entry", "entries")}</p>`;
  return html`<nav class="pager" aria-label="Pages of ${what}">
${page > 1 ? link(page - 1, "Previous", "previous") : undefined}
<span>Page ${page} of ${number(pages)}, ${counted(total, "entry", "entries")}</span>
${page < pages ? link(page + 1, "Next", "next") : undefined}</nav>`;
}

// Small pieces that all sections of the page share: counts, states, times, and the links between the pages of a table. Pure.

import type { Brief, Note } from "../describe/description.ts";
import { type Html, html } from "./html.ts";
import { roughDuration, type Tone } from "./tone.ts";
import { linkTo, type PagedTable, type Slice, type ViewQuery } from "./view-query.ts";

const numbers = new Intl.NumberFormat("en");
export const number = (value: number): string => numbers.format(value);

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

/** The state as a word with a shape, so that it does not depend on the color. */
export const badge = (tone: Tone, label: string): Html => html`<span class="badge ${tone}">${label}</span>`;

/** "2m ago"; the exact time is in the markup. */
export function ago(wall: number, now: number): Html {
  const exact = new Date(wall).toISOString();
  return html`<time datetime="${exact}" title="${exact}">${roughDuration(now - wall)} ago</time>`;
}

const noteText = ({ reason, text }: Note): Html =>
  reason === "Notice" ? html`<p>${text}</p>` : html`<p><strong>${reason}</strong> ${text}</p>`;

/** All that applies to the object, or that nothing does; then when it is tried again. */
export function explanation({ state, summary, notes, nextAttemptInSeconds }: Brief): Html {
  // A settled object is only checked again.
  const next = state === "settled" ? undefined : nextAttemptInSeconds;
  return html`${notes.length === 0 ? html`<p>${summary}</p>` : notes.map(noteText)}${
    next === undefined ? undefined : html`<p class="next">Next attempt in ${roughDuration(next * 1000)}</p>`
  }`;
}

/** What the table shows, and links to the page before and after. */
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

// A table that is a list of cards on a narrow screen. The roles keep its meaning for screen readers there, because a table that is
// displayed in another way loses it.

import { type Html, type HtmlValue, html } from "./html.ts";

export interface Column {
  readonly title: string;
  /** Numbers are aligned at the right; `wide` gets the rest of the width. */
  readonly kind?: "number" | "wide";
}

export interface TableContent {
  readonly id: string;
  /** Read by screen readers before the table. */
  readonly caption: string;
  readonly columns: readonly Column[];
  /** The first cell names the row. */
  readonly rows: readonly (readonly HtmlValue[])[];
  /** Shown instead of a table without rows. */
  readonly empty: HtmlValue;
}

function cell({ title, kind }: Column, index: number, value: HtmlValue): Html {
  const name = kind ?? "text";
  return index === 0
    ? html`<th scope="row" role="rowheader" class="${name}">${value}</th>`
    : html`<td role="cell" class="${name}" data-title="${title}">${value}</td>`;
}

export function table({ id, caption, columns, rows, empty }: TableContent): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const heads = columns.map(
    ({ title, kind }) => html`<th scope="col" role="columnheader" class="${kind ?? "text"}">${title}</th>`,
  );
  const body = rows.map(
    (row) => html`<tr role="row">${columns.map((column, index) => cell(column, index, row[index]))}</tr>
`,
  );
  return html`<table role="table" id="${id}">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">
${body}</tbody>
</table>`;
}

// Builds HTML in which every inserted text is escaped, because names and messages come from the cluster and the cloud.

/** A piece of finished HTML. Only `html` and `trusted` create it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
/** A message may contain a whole cloud response. */
const maxText = 1000;
/** Control characters, and characters that reverse the text direction. */
const unprintable = /[\p{Cc}\p{Bidi_Control}]/gu;
const shownAs = (character: string): string => (/[\n\t]/.test(character) ? character : "\uFFFD");

export function escapeHtml(text: string): string {
  const shown = text.length > maxText ? `${text.slice(0, maxText - 1)}…` : text;
  return shown.replace(unprintable, shownAs).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

function textOf(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string") return escapeHtml(value);
  return typeof value === "number" ? String(value) : value.map(textOf).join("");
}

/** An HTML template: inserted values are escaped, unless they are HTML. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, index) => part + textOf(values[index])).join(""));
}

/** A text from this repository, such as the style sheet. Never pass a text from outside. */
export const trusted = (text: string): Html => new Html(text);

export interface Column<T> {
  readonly title: string;
  /** Numbers are right-aligned; `wide` gets the remaining width. */
  readonly kind?: "number" | "wide";
  readonly cell: (row: T) => HtmlValue;
}

export interface TableContent<T> {
  readonly id: string;
  /** A caption that screen readers read before the table. */
  readonly caption: string;
  /** The columns; the first one names the row. */
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  /** Shown instead of a table without rows. */
  readonly empty: HtmlValue;
}

/**
 * A table that becomes a list of cards on a narrow screen. The roles preserve its meaning for
 * screen readers, because a table with another display style loses it.
 */
export function table<T>({ id, caption, columns, rows, empty }: TableContent<T>): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const heads = columns.map(
    ({ title, kind }) => html`<th scope="col" role="columnheader" class="${kind ?? "text"}">${title}</th>`,
  );
  const cell = ({ title, kind, cell: of }: Column<T>, index: number, row: T): Html =>
    index === 0
      ? html`<th scope="row" role="rowheader" class="${kind ?? "text"}">${of(row)}</th>`
      : html`<td role="cell" class="${kind ?? "text"}" data-title="${title}">${of(row)}</td>`;
  const body = rows.map(
    (row) => html`<tr role="row">${columns.map((column, index) => cell(column, index, row))}</tr>
`,
  );
  return html`<table role="table" id="${id}">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">
${body}</tbody>
</table>`;
}

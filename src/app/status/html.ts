// Builds HTML in which every inserted text is escaped. Names and messages come from the cluster and the cloud, so none is trusted.

/** A piece of finished HTML. Only `html` and `trusted` make one. */
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
/** A message may have a whole response of the cloud. */
const maxText = 1000;
/** Control characters, and those that reverse the direction of the text around them. */
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

/** A template of HTML: inserted values are escaped, unless they are HTML themselves. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, index) => part + textOf(values[index])).join(""));
}

/** Text of this repository, such as the style sheet. Never a text from outside. */
export const trusted = (text: string): Html => new Html(text);

// Text as roff for man(7): what roff would interpret is escaped. Pure.

const outsideAscii = /[^\n -~]/gu;

const glyph = (character: string): string =>
  `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;

/** Plain text. Hyphens stay hyphens that can be copied; a line never begins with a request. */
export function roffText(text: string): string {
  const plain = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll(outsideAscii, glyph);
  return plain
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}

export const bold = (text: string): string => `\\fB${roffText(text)}\\fP`;
export const italic = (text: string): string => `\\fI${roffText(text)}\\fP`;

/** The argument of a macro. */
export const roffArgument = (text: string): string => `"${roffText(text).replaceAll('"', "\\(dq")}"`;

export const heading = (title: string): string => `.SH ${roffArgument(title)}`;
export const subheading = (title: string): string => `.SS ${roffArgument(title)}`;
export const paragraph = (text: string): string => `.PP\n${roffText(text)}`;

/** A term with its description. */
export const item = (term: string, text: string): string => `.TP\n${term}\n${roffText(text)}`;

/** Lines as they are. */
export const example = (lines: readonly string[]): string =>
  `.PP\n.nf\n${lines.map(roffText).join("\n")}\n.fi`;

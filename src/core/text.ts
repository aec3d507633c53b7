// Lists and paragraphs that fit into one log line or a terminal's width. Pure.

const maxLength = 400;
/** A single long item must not fill or break the line. */
const maxItemLength = 160;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed, because a terminal would obey them.
const blanks = /[\s\u0000-\u001f\u007f-\u009f]+/g;

function onOneLine(item: string): string {
  const plain = item.replaceAll(blanks, " ");
  return plain.length > maxItemLength ? `${plain.slice(0, maxItemLength - 1)}…` : plain;
}

/** The items separated by commas: as many whole items as fit, and the number of omitted items. */
export function shortList(items: readonly string[], atMost: number = maxLength): string {
  // The space for "… and 12345 more".
  const room = atMost - 20;
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = index === 0 ? onOneLine(item) : `${text}, ${onOneLine(item)}`;
    const isLast = index === items.length - 1;
    if (index > 0 && next.length > (isLast ? atMost : room))
      return `${text}, … and ${items.length - index} more`;
    text = next;
  }
  return text;
}

/**
 * Formats a command in a message. Its end must be recognizable, because users copy it and a log line continues after the message.
 */
export const commandText = (command: string): string => `\`${command}\``;

/** Wraps text between words at a maximum width. A word longer than a line, or a command, stays whole. */
export function wrapText(text: string, width: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.match(/`[^`]*`\S*|\S+/g) ?? [""]) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && indent.length + longer.length > width) {
      lines.push(indent + line);
      line = word;
    } else line = longer;
  }
  return [...lines, indent + line].join("\n");
}

/** Removes the period of a text that precedes other words. */
export const withoutFullStop = (text: string): string => text.replace(/\.$/, "");

/** Formats a count: "1 route", "2 routes". */
export function countOf(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** A quoted URL for a message, without user and password, even if the URL is invalid. */
export function quotedUrl(url: string): string {
  return JSON.stringify(url.replace(/^.*@/s, "***@"));
}

/**
 * Describes an answer that is a web page, such as a proxy error or a login page, by its title; undefined for any other answer.
 */
export function describePage(body: string): string | undefined {
  const start = body.slice(0, 4096);
  if (!/^\s*<(?:!doctype html|html|head|body)\b/i.test(start)) return undefined;
  const [, title = ""] = /<title[^>]*>([^<]{1,200})/i.exec(start) ?? [];
  const text = title.replaceAll(/\s+/g, " ").trim();
  return text === "" ? "a web page" : `a web page (${JSON.stringify(text.slice(0, 80))})`;
}

const maxForeignLength = 300;

/** A cloud's text on one line, at most 300 characters. The framework has already removed known secrets. */
export function cutText(text: string): string {
  // Truncated first, because the text may have any size.
  const start = text.slice(0, 20 * maxForeignLength);
  const plain = start.replaceAll(blanks, " ").trim();
  return plain.length > maxForeignLength ? `${plain.slice(0, maxForeignLength - 1)}…` : plain;
}

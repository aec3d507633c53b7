// Bounds the structure of a JSON text before it is parsed: many members and deep nesting cost far more time than their bytes. Pure.

export interface JsonLimits {
  readonly depth: number;
  /** In all objects together. */
  readonly members: number;
}

const [quote, backslash, colon] = [34, 92, 58];
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];

/** Which limit the text exceeds; undefined if it exceeds none. It need not be valid. */
export function exceededLimit(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  let depth = 0;
  let members = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfString(text, index);
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (code === colon) members += 1;
    if (depth > limits.depth) return "depth";
    if (members > limits.members) return "members";
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === quote) break;
    if (code === backslash) end += 1;
  }
  return end;
}

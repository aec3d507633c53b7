// Reads the XML of a cloud's response as a plain value, as JSON would be: elements are members of an object. Pure.

/** The value of an element: its text, null if it is empty, its child elements by name, or the entries of a list. */
export type XmlValue = string | null | readonly XmlValue[] | { readonly [name: string]: XmlValue };

interface Open {
  readonly name: string;
  text: string;
  children: { readonly name: string; readonly value: XmlValue }[];
}

const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decode(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return named[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

function valueIn({ text, children }: Open, entries: readonly string[]): XmlValue {
  const [first] = children;
  if (first === undefined) return text === "" ? null : text;
  if (entries.includes(first.name) && children.every(({ name }) => name === first.name))
    return children.map(({ value }) => value);
  return Object.fromEntries(children.map(({ name, value }) => [name, value]));
}

const broken = (at: number) => new Error(`no well-formed XML at character ${at}`);
const skipped = [
  ["<?", "?>"],
  ["<!--", "-->"],
] as const;
const cdata = "<![CDATA[";

const wholeTag = /<[^"'>]*(?:(?:"[^"]*"|'[^']*')[^"'>]*)*>/y;

/** Where the tag that begins at `at` ends. Values of attributes may contain ">". */
function endOfTag(text: string, at: number): number {
  const end = text.indexOf(">", at);
  if (!/["']/.test(text.slice(at, end))) return end;
  wholeTag.lastIndex = at;
  return wholeTag.test(text) ? wholeTag.lastIndex - 1 : -1;
}

/**
 * The root element as an object with one member. An element whose children all have one of the names in `entries` is a list. Attributes
 * are left out, as are document types, which throw: no API sends them.
 *
 * @example
 * readXml("<Hosts><item>a</item><item>b</item></Hosts>", ["item"])   // { Hosts: ["a", "b"] }
 */
export function readXml(text: string, entries: readonly string[]): Readonly<Record<string, XmlValue>> {
  const root: Open = { name: "", text: "", children: [] };
  const open = [root];
  let at = 0;
  while (at < text.length) {
    const current = open.at(-1) ?? root;
    if (text.charAt(at) !== "<") {
      const end = text.indexOf("<", at);
      const until = end < 0 ? text.length : end;
      current.text += decode(text.slice(at, until));
      at = until;
      continue;
    }
    if (text.startsWith(cdata, at)) {
      const end = text.indexOf("]]>", at);
      if (end < 0) throw broken(at);
      current.text += text.slice(at + cdata.length, end);
      at = end + 3;
      continue;
    }
    const skip = skipped.find(([start]) => text.startsWith(start, at));
    const end = skip === undefined ? endOfTag(text, at) : text.indexOf(skip[1], at);
    if (end < 0 || text.startsWith("<!D", at)) throw broken(at);
    if (skip !== undefined) {
      at = end + skip[1].length;
      continue;
    }
    const isEnd = text.charAt(at + 1) === "/";
    const isEmpty = text.charAt(end - 1) === "/";
    const tag = text.slice(at + (isEnd ? 2 : 1), isEmpty ? end - 1 : end);
    const space = tag.search(/\s/);
    const name = space < 0 ? tag : tag.slice(0, space);
    if (name === "") throw broken(at);
    if (isEnd) {
      if (open.length === 1 || current.name !== name) throw broken(at);
      open.pop();
      open.at(-1)?.children.push({ name, value: valueIn(current, entries) });
    } else if (isEmpty) current.children.push({ name, value: null });
    else open.push({ name, text: "", children: [] });
    at = end + 1;
  }
  const [only, other] = root.children;
  if (open.length > 1 || only === undefined || other !== undefined || root.text.trim() !== "")
    throw broken(text.length);
  return { [only.name]: only.value };
}

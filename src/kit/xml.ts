// Reads XML as plain values like those from JSON, and writes XML with every value escaped. Pure.

/** The value of an element: its text, null if it is empty, its children and attributes by name, or the entries of a list. */
export type XmlValue = string | null | readonly XmlValue[] | { readonly [name: string]: XmlValue };

type Content = Bun.XML.Value | readonly Bun.XML.Value[] | undefined;

/** How an API writes lists and attributes. */
export interface XmlReading {
  /** An element whose children all have one of these names is a list. */
  readonly entries?: readonly string[];
  /**
   * Keeps attributes as `@name`, and text beside attributes as `#text`. Namespace declarations are omitted. A namespaced
   * attribute is `@xsi:name`, whatever its prefix, because the only one that APIs send is the type of XML Schema.
   */
  readonly attributes?: true;
}

/** The parser keeps prefixes, which a server may choose freely. */
const localName = (name: string): string => name.slice(name.indexOf(":") + 1);

/**
 * Bun returns attributes as `@name`, text beside attributes as `#text`, and several children with one name as a list. A
 * listing has a million elements, so each is read in one pass.
 */
function plainValue(content: Content, reading: XmlReading): XmlValue {
  if (content === undefined || content === "") return null;
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((each) => plainValue(each, reading));
  const element = content as Bun.XML.Element;
  const members: Record<string, XmlValue> = {};
  const children: string[] = [];
  for (const name in element) {
    const value = element[name];
    // No API has an element named like the prototype property.
    if (name === "#text" || name.endsWith("__proto__")) continue;
    if (!name.startsWith("@")) {
      children.push(name);
      members[localName(name)] = plainValue(value, reading);
    } else if (reading.attributes && typeof value === "string" && !/^@xmlns(:|$)/.test(name))
      members[name.includes(":") ? `@xsi:${localName(name)}` : name] = value;
  }
  const [first, other] = children;
  if (first === undefined) {
    const text = element["#text"];
    if (Object.keys(members).length === 0) return plainValue(text, reading);
    if (typeof text === "string") members["#text"] = text;
  } else if (other === undefined && reading.entries?.includes(localName(first))) {
    const entries = element[first];
    return (Array.isArray(entries) ? entries : [entries]).map((entry) => plainValue(entry, reading));
  }
  return members;
}

/**
 * The root element as an object with one member, with names without prefixes. Throws for malformed text, and for document
 * types, which no API sends.
 *
 * @example
 * readXml("<Hosts><item>a</item><item>b</item></Hosts>", { entries: ["item"] })   // { Hosts: ["a", "b"] }
 */
export function readXml(text: string, reading: XmlReading = {}): Readonly<Record<string, XmlValue>> {
  if (text.includes("<!DOCTYPE")) throw new Error("document types are not supported");
  const [[root = "", content] = []] = Object.entries(Bun.XML.parse(text));
  return { [localName(root)]: plainValue(content, reading) };
}

/** An element that may be missing or repeated, as a list. An empty element is an entry. */
export function many(value: XmlValue | undefined): readonly XmlValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as XmlValue];
}

/** Text that is already XML. Created with `xml`. */
export class Xml {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Line breaks in attributes must be escaped, because they would be read as spaces. */
const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#13;",
};

/** Characters that a document cannot contain in any form. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function written(value: string | number | boolean | Xml | readonly Xml[]): string {
  if (value instanceof Xml) return value.text;
  if (Array.isArray(value)) return value.map(written).join("");
  return String(value)
    .replace(forbidden, "")
    .replace(/[&<>"\r]/g, (char) => escapes[char] ?? char);
}

/**
 * An XML template. Values are escaped, unless they are already XML.
 *
 * @example
 * xml`<user name="${name}">${groups.map((group) => xml`<group>${group}</group>`)}</user>`.text
 */
export function xml(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | boolean | Xml | readonly Xml[])[]
): Xml {
  return new Xml(
    parts.map((part, index) => part + (index < values.length ? written(values[index] ?? "") : "")).join(""),
  );
}

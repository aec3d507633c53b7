// Reads the XML of a cloud's response as a plain value, as JSON would be: elements are members of an object. Pure.

/** The value of an element: its text, null if it is empty, its child elements by name, or the entries of a list. */
export type XmlValue = string | null | readonly XmlValue[] | { readonly [name: string]: XmlValue };

type Content = Bun.XML.Value | readonly Bun.XML.Value[] | undefined;

/** Bun returns attributes as `@name`, text beside attributes as `#text`, and children of one name as a list if there are several. */
function plainValue(content: Content, entries: readonly string[]): XmlValue {
  if (content === undefined || content === "") return null;
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return plainValue(content.at(-1), entries);
  const element = content as Bun.XML.Element;
  const names = Object.keys(element).filter((name) => !name.startsWith("@") && name !== "#text");
  const [first, other] = names;
  if (first === undefined) return plainValue(element["#text"], entries);
  const children = element[first];
  if (other === undefined && entries.includes(first))
    return Array.isArray(children)
      ? children.map((child) => plainValue(child, entries))
      : [plainValue(children, entries)];
  return Object.fromEntries(names.map((name) => [name, plainValue(element[name], entries)]));
}

/**
 * The root element as an object with one member. An element whose children all have one of the names in `entries` is a list. Attributes
 * are left out. Throws for text that is not well-formed, and for document types, which no API sends.
 *
 * @example
 * readXml("<Hosts><item>a</item><item>b</item></Hosts>", ["item"])   // { Hosts: ["a", "b"] }
 */
export function readXml(text: string, entries: readonly string[]): Readonly<Record<string, XmlValue>> {
  if (text.includes("<!DOCTYPE")) throw new Error("document types are not supported");
  const [[root = "", content] = []] = Object.entries(Bun.XML.parse(text));
  return { [root]: plainValue(content, entries) };
}

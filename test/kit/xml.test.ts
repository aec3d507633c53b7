// XML as plain values.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { readXml, type XmlValue } from "../../src/kit/xml.ts";

const entries = ["item", "member"];
const read = (text: string) => readXml(text, { entries });

test("reads members, lists and empty elements of a response", () => {
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!-- a > comment --><Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/" note='a>"b"'>
  <requestId>1</requestId><empty/><alsoEmpty></alsoEmpty>
  <set><item><id>a</id></item><item><id>b</id></item></set><names><member>one</member></names></Response>`;
  expect(read(text)).toEqual({
    Response: {
      requestId: "1",
      empty: null,
      alsoEmpty: null,
      set: [{ id: "a" }, { id: "b" }],
      names: ["one"],
    },
  });
});

test("decodes entities and sections", () => {
  expect(read("<a>&lt;b&gt; &amp; &quot;&apos;&#65;&#x42;<![CDATA[<c>&amp;]]></a>")).toEqual({
    a: "<b> & \"'AB<c>&amp;",
  });
});

test.each([
  ["text", "no markup"],
  ["nothing", ""],
  ["a page that ends early", "<a><b>1</b>"],
  ["a tag that ends early", '<a><b c="1></b></a>'],
  ["another end", "<a></b>"],
  ["an end without a beginning", "</a>"],
  ["two roots", "<a/><b/>"],
  ["text beside the root", "<a/>b"],
  ["an open comment", "<a><!-- </a>"],
  ["an open section", "<a><![CDATA[ </a>"],
  ["an unknown entity", "<a>&unknown;</a>"],
])("throws for %s", (_, text) => {
  expect(() => read(text)).toThrow("XML Parse error");
});

test("throws for a document type, whose entities would be expanded", () => {
  expect(() => read('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')).toThrow("document types are not supported");
});

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function write(value: XmlValue): string {
  if (value === null) return "";
  if (typeof value === "string") return escaped(value);
  if (Array.isArray(value)) return value.map((one) => `<item>${write(one)}</item>`).join("");
  return Object.entries(value)
    .map(([name, one]) => `<${name} of="x">${write(one)}</${name}>`)
    .join("");
}

test("reads back every written value", () => {
  const text = fc.string({ minLength: 1 });
  const { tree } = fc.letrec<{ tree: XmlValue }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      text,
      fc.array(tie("tree"), { minLength: 1, maxLength: 4 }),
      fc.dictionary(fc.stringMatching(/^[A-Z][a-zA-Z]{0,8}$/), tie("tree"), { minKeys: 1, maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      expect(read(`<root>${write(value)}</root>`)).toEqual({ root: value });
    }),
  );
});

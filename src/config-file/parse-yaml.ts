// YAML as a located document. It is loaded only when a file is read. What could make a small file large or strange is
// refused: anchors, aliases, merge keys, tags of one's own, keys that are no texts.

import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import {
  type Located,
  type LocatedEntry,
  type ParsedDocument,
  type PlacedProblem,
  placed,
} from "./located.ts";

export const longestDocument = 256 * 1024;
const deepest = 16;
const start = { line: 1, column: 1 };

type Contents = Document.Parsed["contents"];

/** The library adds an excerpt of the file, which may hold a secret. */
function withoutExcerpt(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

const onlyOnce = (key: string): string => `${key} is given more than once; keep one`;

export function parseYaml(text: string): ParsedDocument {
  if (text.length > longestDocument) {
    const says = `the file has ${text.length} characters; at most ${longestDocument} are read`;
    return { problems: [placed(start, "FileTooLarge", says)] };
  }
  const counter = new LineCounter();
  const problems: PlacedProblem[] = [];
  const at = (offset: number | undefined) => {
    const { line, col } = counter.linePos(offset ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const complain = (offset: number | undefined, says: string): undefined => {
    problems.push(placed(at(offset), "InvalidYaml", says));
    return undefined;
  };

  const locate = (node: unknown, depth: number): Located | undefined => {
    if (isAlias(node)) return complain(node.range?.[0], "aliases are not read here; write the value out");
    if (isScalar(node)) {
      const place = at(node.range?.[0]);
      if (node.anchor !== undefined)
        complain(node.range?.[0], "anchors are not read here; write the value out");
      const { value } = node;
      const isPlain =
        value === null ||
        typeof value === "string" ||
        typeof value === "number" ||
        typeof value === "boolean";
      if (!isPlain) return complain(node.range?.[0], "a text, a number, true or false was expected");
      return { kind: "scalar", place, value, source: node.source ?? String(value) };
    }
    if (depth > deepest) return complain(undefined, `it is nested more than ${deepest} deep`);
    if (isSeq(node)) {
      const entries = node.items.flatMap((item) => locate(item, depth + 1) ?? []);
      return { kind: "list", place: at(node.range?.[0]), entries };
    }
    if (!isMap(node)) return undefined;
    const entries: LocatedEntry[] = [];
    const seen = new Set<string>();
    for (const { key, value } of node.items) {
      const offset = isScalar(key) ? key.range?.[0] : node.range?.[0];
      if (!isScalar(key) || key.value === null) {
        complain(offset, "a key must be a text");
        continue;
      }
      const name = String(key.value);
      if (seen.has(name)) complain(offset, onlyOnce(name));
      seen.add(name);
      // `key:` with nothing behind it is a scalar without a value.
      const located = locate(value, depth + 1);
      if (located !== undefined) entries.push({ key: name, keyPlace: at(offset), value: located });
    }
    return { kind: "map", place: at(node.range?.[0]), entries };
  };

  let contents: Contents;
  try {
    // Keys that come twice are found here, with the name of the key.
    const document = parseDocument(text, { lineCounter: counter, uniqueKeys: false, prettyErrors: false });
    for (const { message, pos } of [...document.errors, ...document.warnings]) {
      complain(pos[0], withoutExcerpt(message));
    }
    contents = document.contents;
  } catch {
    // The parser goes down with its own depth, before ours is counted.
    return { problems: [placed(start, "InvalidYaml", `it is nested more than ${deepest} deep`)] };
  }
  const root = contents === null ? undefined : locate(contents, 0);
  return { ...(root !== undefined && { root }), problems };
}

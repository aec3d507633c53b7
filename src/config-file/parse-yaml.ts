// Parses YAML into a located document. Rejects whatever could make a small file large or ambiguous: anchors, aliases, merge
// keys, custom tags, and keys that are not strings. Loaded only for files that `parsePlainYaml` does not read.

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLParseError,
} from "yaml";
import {
  type Located,
  type LocatedEntry,
  maxDepth,
  maxDocumentLength,
  type ParsedDocument,
  type PlacedProblem,
  problemAt,
} from "./located.ts";

const start = { line: 1, column: 1 };
const tooDeep = `the document is nested more than ${maxDepth} levels deep`;

type Contents = Document.Parsed["contents"];

/** Removes the library's excerpt of the file, which may contain a secret. */
function withoutExcerpt(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

/** The remedy for a syntax error, by the library's code. */
const fixes: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "Indent with spaces.",
  BAD_INDENT: "Indent all keys of a mapping equally.",
  BLOCK_AS_IMPLICIT_KEY: "Put a value that contains a colon in quotes.",
  MULTILINE_IMPLICIT_KEY:
    "Put a value that contains a colon in quotes, and indent all keys of a mapping equally.",
  MISSING_CHAR: "Close the quote or bracket.",
  MULTIPLE_DOCS: "Keep one document.",
};

/** Only the first error is reported. Further errors, and settings that seem to be missing, are usually its consequences. */
function syntaxError({ message, code }: YAMLParseError): string {
  // The parser overflows its stack on deep nesting before `maxDepth` applies.
  if (code === "RESOURCE_EXHAUSTION") return tooDeep;
  return `invalid YAML: ${withoutExcerpt(message).replace(/; please use .*|\.$/, "")}. ${fixes[code] ?? "Correct the syntax."}`;
}

const duplicateKey = (key: string): string => `${key} is set more than once; keep one`;

export function parseYaml(text: string): ParsedDocument {
  if (text.length > maxDocumentLength) {
    const tooLarge = `the file has ${text.length} characters; the limit is ${maxDocumentLength}`;
    return { root: undefined, problems: [problemAt(start, "FileTooLarge", tooLarge)] };
  }
  const counter = new LineCounter();
  const problems: PlacedProblem[] = [];
  const at = (offset: number | undefined) => {
    const { line, col } = counter.linePos(offset ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const report = (offset: number | undefined, message: string): undefined => {
    problems.push(problemAt(at(offset), "InvalidYaml", message));
    return undefined;
  };

  const locate = (node: unknown, depth: number): Located | undefined => {
    if (isAlias(node)) return report(node.range?.[0], "aliases are not supported; write the value out");
    if (isScalar(node)) {
      const place = at(node.range?.[0]);
      if (node.anchor !== undefined)
        report(node.range?.[0], "anchors are not supported; write the value out");
      const { value } = node;
      const isPlain =
        value === null ||
        typeof value === "string" ||
        typeof value === "number" ||
        typeof value === "boolean";
      if (!isPlain) return report(node.range?.[0], "expected a string, a number, true or false");
      return { kind: "scalar", place, value, source: node.source ?? String(value) };
    }
    if (depth > maxDepth) return report(undefined, tooDeep);
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
        report(offset, "keys must be strings");
        continue;
      }
      const name = String(key.value);
      if (seen.has(name)) report(offset, duplicateKey(name));
      seen.add(name);
      // `key:` without a value is a scalar with the value null.
      const located = locate(value, depth + 1);
      if (located !== undefined) entries.push({ key: name, keyPlace: at(offset), value: located });
    }
    return { kind: "map", place: at(node.range?.[0]), entries };
  };

  let contents: Contents;
  try {
    // Duplicate keys are found above, so that the message can name the key.
    const document = parseDocument(text, { lineCounter: counter, uniqueKeys: false, prettyErrors: false });
    const [error] = document.errors;
    if (error !== undefined) {
      return { root: undefined, problems: [problemAt(at(error.pos[0]), "InvalidYaml", syntaxError(error))] };
    }
    for (const { message, pos } of document.warnings) report(pos[0], withoutExcerpt(message));
    contents = document.contents;
  } catch {
    // The parser overflows its stack on deep nesting before `maxDepth` applies.
    return {
      root: undefined,
      problems: [problemAt(start, "InvalidYaml", tooDeep)],
    };
  }
  const root = contents === null ? undefined : locate(contents, 0);
  return { root, problems };
}

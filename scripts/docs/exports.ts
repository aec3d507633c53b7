// Reads the exports of a file with their doc comments and declarations. It relies on the formatter's layout: top-level
// declarations start and end in the first column, members are indented by two spaces.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "../..");

export interface Exported {
  readonly name: string;
  /** The path of the declaration, from the root of the repository. */
  readonly file: string;
  /** The text of the doc comment, without markers; empty without a comment. */
  readonly doc: string;
  /** The declaration, without function bodies and private members. */
  readonly declaration: string;
}

/** Everything that this file exports, in its order. */
export function publicExports(index: string): readonly Exported[] {
  return exportsOf(index).flatMap(({ names, from }) => {
    const path = join(dirname(index), from);
    return names === undefined ? allExportsOf(path) : names.map((name) => findExport(path, name));
  });
}

interface ReExport {
  /** Undefined for the whole file. */
  readonly names: readonly string[] | undefined;
  readonly from: string;
}

function exportsOf(path: string): readonly ReExport[] {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^export (?:type )?(\*|\{[^}]*\}) from "([^"]+)";/gm)].map(
    ([, names = "", from = ""]) => ({
      names: names === "*" ? undefined : [...names.matchAll(/(\w+)\s*[,}]/g)].map(([, name = ""]) => name),
      from,
    }),
  );
}

function allExportsOf(path: string): readonly Exported[] {
  const reExported = exportsOf(path).flatMap(({ names = [], from }) =>
    names.map((name) => findExport(join(dirname(path), from), name)),
  );
  return [...declarationsIn(path), ...reExported];
}

function findExport(path: string, name: string): Exported {
  const found = declarationsIn(path).find((exported) => exported.name === name);
  if (found === undefined) throw new Error(`${path} has no declaration of ${name}.`);
  return found;
}

function declarationsIn(file: string): readonly Exported[] {
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  return lines.flatMap((line, start) => {
    const match =
      /^export (?:declare |async |abstract )?(interface|type|class|function|const)(?:\* | )(\w+)/.exec(line);
    if (match === null) return [];
    const [, kind = "", name = ""] = match;
    const source = lines.slice(start, endOf(kind, lines, start) + 1);
    source[0] = line.replace(/^export (?:async |abstract )?/, "");
    return [{ name, file, doc: docBefore(lines, start), declaration: withoutBodies(kind, source) }];
  });
}

/** The last line of a declaration: the first one that closes all brackets and ends the statement or block. */
function endOf(kind: string, lines: readonly string[], start: number): number {
  // The code of methods has "<" and ">" that are not brackets.
  if (kind === "class" && !/\}$/.test(lines[start] ?? "")) return lines.indexOf("}", start);
  const lastCharacter = kind === "type" || kind === "const" ? /;$/ : /\}$/;
  let depth = 0;
  for (let index = start; index < lines.length; index++) {
    const code = (lines[index] ?? "").replace(/^\s*(\/\*\*|\*|\/\/).*$/, "").replaceAll(/"[^"]*"|=>/g, "");
    depth += code.split(/[{([<]/).length - code.split(/[})\]>]/).length;
    if (depth === 0 && lastCharacter.test(code)) return index;
  }
  return lines.length - 1;
}

/** The comment that ends on the line above; lint directives between the comment and the declaration are skipped. */
function docBefore(lines: readonly string[], start: number): string {
  let end = start - 1;
  while (/^\/\/ biome-ignore/.test(lines[end] ?? "")) end -= 1;
  if (!/\*\/$/.test(lines[end] ?? "")) return "";
  let first = end;
  while (first >= 0 && !/^\/\*\*/.test(lines[first] ?? "")) first -= 1;
  return lines
    .slice(first, end + 1)
    .map((line) =>
      line
        .replace(/^\/\*\* ?|^ \*\/$/, "")
        .replace(/ ?\*\/$/, "")
        .replace(/^ \* ?/, ""),
    )
    .join("\n")
    .trim();
}

function withoutBodies(kind: string, source: readonly string[]): string {
  if (kind === "class") return publicMembers(source);
  if (kind === "function") {
    const end = source.findIndex(
      (line) => /\{$/.test(line) && !/^\s/.test(line) && !/^function.*\($/.test(line),
    );
    return source
      .slice(0, end + 1)
      .join("\n")
      .replace(/ \{$/, ";");
  }
  const text = source.join("\n");
  if (kind !== "const") return text;
  // An object with a named type adds nothing to the type.
  return text.replace(/^(const \w+: \w+) = \{[\s\S]*$/, "$1;").replace(/ =>[\s\S]*$/, " => …;");
}

function publicMembers(source: readonly string[]): string {
  if (source.length === 1) return source.join("");
  const kept: string[] = [];
  let isInBody = false;
  let comment: string[] = [];
  for (const line of source.slice(1, -1)) {
    if (isInBody) {
      if (line === "  }") isInBody = false;
    } else if (/^ {2}(\/\*\*| \*)/.test(line)) comment.push(line);
    else if (line.trim() !== "") {
      isInBody = / \{$/.test(line);
      if (!/^ {2}(readonly )?[#[]/.test(line)) kept.push(...comment, line.replace(/ \{$/, ";"));
      comment = [];
    }
  }
  return [source[0], ...kept, "}"].join("\n");
}

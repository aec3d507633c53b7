// Parses plain YAML into a located document: keys, lists and values on one line. Uses Bun's parser, because the `yaml`
// package would retain 1 MiB of memory.

import {
  type Located,
  type LocatedEntry,
  maxDepth,
  maxDocumentLength,
  type ParsedDocument,
  type TextPlace,
} from "./located.ts";

/** A part of the text that corresponds to a part of the document. */
interface Mark {
  readonly kind: "key" | "scalar" | "entry" | "list" | "map";
  readonly text: string;
  readonly place: TextPlace;
}

const quoted = /"[^"\\\n]*"|'[^'\n]*'/.source;
const parts: readonly (readonly [Mark["kind"] | undefined, RegExp])[] = [
  [undefined, / +|(?:(?<=\s)|^)#.*|[\],]/y],
  ["entry", /-(?= )/y],
  ["key", new RegExp(`(?:${quoted}|(?!null:)[A-Za-z][\\w./-]*)(?=:(?: |$))`, "y")],
  [undefined, /:(?= |$)/y],
  ["scalar", new RegExp(`(?:${quoted}|(?:-?[\\w/]|--\\w)[\\w./:+=@-]*(?<!:))(?=[ ,\\]]|$)`, "y")],
  ["list", /\[(?=[^[]*\])/y],
  ["map", /\{\}/y],
];

/** The tokens of the text; undefined if it contains unsupported syntax, such as an anchor, a tag or a block scalar. */
function marksOf(text: string): readonly Mark[] | undefined {
  const marks: Mark[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    let at = 0;
    while (at < line.length) {
      const found = parts.find(([, part]) => {
        part.lastIndex = at;
        return part.test(line);
      });
      if (found === undefined) return undefined;
      const [kind, { lastIndex: end }] = found;
      const written = line.slice(at, end).replace(/^(["'])(.*)\1$/, "$2");
      if (kind !== undefined) marks.push({ kind, text: written, place: { line: index + 1, column: at + 1 } });
      at = end;
    }
  }
  return marks;
}

/** The result of Bun's parser, checked in text order against the tokens, which provide the positions. */
class MarkedValue {
  readonly #marks: readonly Mark[];
  #next = 0;

  constructor(marks: readonly Mark[]) {
    this.#marks = marks;
  }

  get isComplete(): boolean {
    return this.#next === this.#marks.length;
  }

  /** Undefined if the value differs from the text, for example because the parser dropped a duplicate key. */
  locate(value: unknown, depth = 0): Located | undefined {
    const first = this.#marks[this.#next];
    if (first === undefined || depth > maxDepth) return undefined;
    const { place } = first;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      return this.#take("scalar", String(value)) && { kind: "scalar", place, value, source: first.text };
    if (value === null || typeof value !== "object") return undefined;
    if (Array.isArray(value)) {
      const isFlow = this.#take("list") !== undefined;
      const entries = value.map((entry: unknown) =>
        isFlow || this.#take("entry") ? this.locate(entry, depth + 1) : undefined,
      );
      return entries.every((entry) => entry !== undefined) ? { kind: "list", place, entries } : undefined;
    }
    const members = Object.entries(value);
    if (members.length === 0 && this.#take("map") === undefined) return undefined;
    const entries = members.map(([key, member]): LocatedEntry | undefined => {
      const keyPlace = this.#take("key", key);
      const located = keyPlace && this.locate(member, depth + 1);
      return located && { key, keyPlace, value: located };
    });
    return entries.every((entry) => entry !== undefined) ? { kind: "map", place, entries } : undefined;
  }

  #take(kind: Mark["kind"], text?: string): TextPlace | undefined {
    const mark = this.#marks[this.#next];
    if (mark?.kind !== kind || (text !== undefined && mark.text !== text)) return undefined;
    this.#next += 1;
    return mark.place;
  }
}

/** The same result as `parseYaml`; undefined if the text is not plain YAML, or has a problem. */
export function parsePlainYaml(text: string): ParsedDocument | undefined {
  const marks = text.length > maxDocumentLength ? undefined : marksOf(text);
  if (marks === undefined) return undefined;
  const marked = new MarkedValue(marks);
  try {
    const root = marked.locate(Bun.YAML.parse(text));
    return root !== undefined && marked.isComplete ? { root, problems: [] } : undefined;
  } catch {
    return undefined;
  }
}

/** Loads the `yaml` package only for text that is not plain. */
export async function parseDocument(text: string): Promise<ParsedDocument> {
  return parsePlainYaml(text) ?? (await import("./parse-yaml.ts")).parseYaml(text);
}

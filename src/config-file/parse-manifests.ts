// Parses a file with Kubernetes objects: several YAML or JSON documents, and lists. Each object knows
// the positions of its fields.

import { type Document, isMap, isScalar, LineCounter, parseAllDocuments } from "yaml";
import { messageOf } from "../core/error-message.ts";
import { type PlacedProblem, problemAt, type TextPlace } from "./located.ts";

export type FieldPath = readonly (string | number)[];

export interface ManifestObject {
  readonly value: Readonly<Record<string, unknown>>;
  /** The position of a field, or of its closest existing ancestor. */
  placeOf(path: FieldPath): TextPlace;
  /** The text of the object's document. Spaces replace everything before it, so that positions stay the same. */
  readonly text: string;
}

export interface Manifests {
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly PlacedProblem[];
}

const start: TextPlace = { line: 1, column: 1 };

type Parsed = Document.Parsed;
type Mapping = Readonly<Record<string, unknown>>;

export const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The start of a field, or of its key if it has one. */
function offsetOf(document: Parsed, path: FieldPath): number | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const parent: unknown =
      length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const key = path[length - 1];
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
      if (isScalar(pair?.key) && pair.key.range) return pair.key.range[0];
    } else {
      const node: unknown = document.getIn(path.slice(0, length), true);
      if (isMap(node) || isScalar(node)) return node.range?.[0];
    }
  }
  return document.contents?.range[0];
}

/** Nested aliases would let a small file expand into a large one. */
const maxAliasCount = 100;

/** The value, or why it cannot be read: an alias without an anchor, or too many aliases. */
function readValue(document: Parsed): { readonly value: unknown } | { readonly wrong: string } {
  try {
    return { value: document.toJS({ maxAliasCount }) };
  } catch (error) {
    return { wrong: messageOf(error) };
  }
}

export function parseManifests(text: string): Manifests {
  const counter = new LineCounter();
  const problems: PlacedProblem[] = [];
  const placeAt = (offset: number | undefined): TextPlace => {
    if (offset === undefined) return start;
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsed = parseAllDocuments(text, { lineCounter: counter, prettyErrors: false });
  const objects = (Array.isArray(parsed) ? parsed : []).flatMap((document): readonly ManifestObject[] => {
    const [error] = document.errors;
    if (error !== undefined) {
      const message = (error.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
      problems.push(problemAt(placeAt(error.pos[0]), "InvalidYaml", `invalid YAML: ${message}`));
      return [];
    }
    const read = readValue(document);
    if ("wrong" in read) {
      problems.push(
        problemAt(placeAt(document.contents?.range[0]), "InvalidYaml", `invalid YAML: ${read.wrong}`),
      );
      return [];
    }
    const { value } = read;
    if (!isMapping(value)) return [];
    const [from, , to] = document.contents?.range ?? [0, 0, text.length];
    const own = text.slice(0, from).replaceAll(/[^\n]/g, " ") + text.slice(from, to);
    const object = (one: Mapping, root: FieldPath): ManifestObject => ({
      value: one,
      placeOf: (path) => placeAt(offsetOf(document, [...root, ...path])),
      text: own,
    });
    const { items, kind } = value;
    if (!String(kind).endsWith("List") || !Array.isArray(items)) return [object(value, [])];
    return items.flatMap((item: unknown, index) => (isMapping(item) ? [object(item, ["items", index])] : []));
  });
  return { objects, problems };
}

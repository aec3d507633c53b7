// A parsed document as a tree of values with line and column, so that errors can point to them.

import type { Problem } from "../core/problem.ts";

/** In characters. */
export const maxDocumentLength = 256 * 1024;
export const maxDepth = 16;

/** Line and column start at 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

export interface LocatedEntry {
  readonly key: string;
  readonly keyPlace: TextPlace;
  readonly value: Located;
}

export type Located =
  | {
      readonly kind: "scalar";
      readonly place: TextPlace;
      readonly value: string | number | boolean | null;
      /** The value as written: where a string is expected, `0123` and `1e3` keep their form. */
      readonly source: string;
    }
  | { readonly kind: "list"; readonly place: TextPlace; readonly entries: readonly Located[] }
  | { readonly kind: "map"; readonly place: TextPlace; readonly entries: readonly LocatedEntry[] };

export interface ParsedDocument {
  /** Undefined when the document is empty or cannot be parsed. */
  readonly root: Located | undefined;
  readonly problems: readonly PlacedProblem[];
}

/** A problem with its position; `inFile` adds the name of the file. */
export type PlacedProblem = Problem & { readonly place: TextPlace };

export function problemAt(place: TextPlace, reason: string, text: string): PlacedProblem {
  return {
    severity: "error",
    reason,
    text,
    place,
  };
}

export const inFile = (file: string, { place, ...problem }: PlacedProblem): Problem => ({
  ...problem,
  place: { file, ...place },
});

// A document as a tree whose every part knows where it stands, so that what is wrong with it can be pointed at.

import type { Problem } from "../core/problem.ts";

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface LocatedEntry {
  readonly key: string;
  readonly keyPlace: Place;
  readonly value: Located;
}

export type Located =
  | {
      readonly kind: "scalar";
      readonly place: Place;
      readonly value: string | number | boolean | null;
      /** As it was written: `0123` and `1e3` are texts to somebody who wants a text. */
      readonly source: string;
    }
  | { readonly kind: "list"; readonly place: Place; readonly entries: readonly Located[] }
  | { readonly kind: "map"; readonly place: Place; readonly entries: readonly LocatedEntry[] };

export interface ParsedDocument {
  /** Absent when it is empty or cannot be read. */
  readonly root?: Located;
  readonly problems: readonly PlacedProblem[];
}

/** What is wrong and where; the name of the file comes in when it is shown. */
export interface PlacedProblem extends Problem {
  readonly place: Place;
}

export function placed(place: Place, reason: string, text: string): PlacedProblem {
  return {
    severity: "error",
    reason,
    text,
    place,
  };
}

/** `file:line:column: text`, which editors understand. */
export function inFile(path: string, { place, ...problem }: PlacedProblem): Problem {
  return {
    ...problem,
    text: `${path}:${place.line}:${place.column}: ${problem.text}`,
  };
}

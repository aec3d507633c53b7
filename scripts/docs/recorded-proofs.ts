// What the suites proved that a plain clone cannot run, kept from the last time that they ran. A proof counts as long as a
// test with its title and ids is there; who renames the test has to run it again.

import { idsOf, type Suite } from "./features.ts";

export type Recorded = Readonly<Record<Exclude<Suite, "plain">, readonly string[]>>;

/** Titles that name a row, each once and in order, so that the file changes only with what it says. */
export function worthRecording(titles: readonly string[]): readonly string[] {
  return [...new Set(titles.filter((title) => idsOf(title).length > 0))].toSorted();
}

/** Texts of the sources that end with ids: titles, rows of tables, names of blocks. */
function literalsIn(sources: readonly string[]): readonly string[] {
  return sources.flatMap((text) =>
    [...text.matchAll(/"([^"\n]* \[(?:[FNS]\d+ ?)+\])"/g)].map(([, literal = ""]) => literal),
  );
}

/** What a table fills in may be anything; a title may have the name of its block before it. */
function titlesLike(literal: string): RegExp {
  const parts = literal.split(/%[sdpij]/).map((part) => part.replaceAll(/[^\w ]/g, "\\$&"));
  return new RegExp(parts.join(".*"));
}

export function stillThere(titles: readonly string[], sources: readonly string[]): readonly string[] {
  const patterns = literalsIn(sources).map(titlesLike);
  return titles.filter((title) => patterns.some((pattern) => pattern.test(title)));
}

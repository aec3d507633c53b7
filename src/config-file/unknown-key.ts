// The error for a key that no table has, with the nearest known name.

import { didYouMean } from "../core/did-you-mean.ts";
import { type LocatedEntry, type PlacedProblem, problemAt } from "./located.ts";

/** `prefix`: the path of the mapping that has the key, such as `regions[0].`. */
export function unknownKey(
  { key, keyPlace }: LocatedEntry,
  what: string,
  known: readonly string[],
  prefix = "",
): PlacedProblem {
  const meant = didYouMean(key, known);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const shown = prefix + (key.length > 80 ? `${key.slice(0, 80)}…` : key);
  return { ...problemAt(keyPlace, "UnknownKey", `unknown ${what} ${shown}${hint}`), key: shown };
}

// Checks settings while some values cannot be read. A result that holds with and without a value is certain, so all such problems
// are reported together, and no problem is merely the consequence of another. Pure.

import { didYouMean } from "./did-you-mean.ts";
import type { Field, Fields } from "./settings.ts";

type AnyValues = Readonly<Record<string, unknown>>;

/** The Go managers' files use different separators, and some use the names of the variables. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_]/g, "");

/** The settings that these words were probably meant for. */
export function settingsMeant(words: readonly string[], fields: Fields): ReadonlySet<string> {
  if (words.length === 0) return new Set();
  const names = new Map<string, string>();
  for (const [name, { env }] of Object.entries(fields)) if (env !== undefined) names.set(plain(env), name);
  for (const name of Object.keys(fields)) names.set(plain(name), name);
  const meant = words.map((word) => didYouMean(plain(word), names.keys()));
  return new Set(meant.flatMap((one) => (one === undefined ? [] : (names.get(one) ?? []))));
}

/** Any value that the field accepts. */
function standIn({ choices = [], parse }: Field<unknown>): unknown {
  for (const raw of [...choices, "https://stand-in.example", "true", "1", "1s"]) {
    const parsed = parse(raw);
    if ("value" in parsed) return parsed.value;
  }
  return undefined;
}

export interface UncertainValues {
  readonly values: AnyValues;
  /** Required settings without a value. */
  readonly absent: readonly string[];
  /** Settings whose value cannot be read. */
  readonly unread: readonly string[];
}

/** The values, with any valid value in place of each unreadable one. Returns the same object if all values are known. */
export function possibleValues(
  fields: Fields,
  { values, absent, unread }: UncertainValues,
): readonly AnyValues[] {
  if (absent.length + unread.length === 0) return [values];
  const standIns = (names: readonly string[]) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = fields[name] && standIn(fields[name]);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
  const without = { ...values, ...standIns(absent) };
  return absent.every((name) => name in without) ? [without, { ...without, ...standIns(unread) }] : [];
}

/** The function's result for each possible value. */
export function inEach<T>(
  possible: readonly AnyValues[],
  find: (values: AnyValues) => readonly T[],
  idOf: (found: T) => string,
): readonly T[] {
  const [first = [], ...others] = possible.map((values) => {
    try {
      return find(values);
    } catch (error) {
      if (possible.length === 1) throw error;
      // A provider may require more of a value than its field does.
      return [];
    }
  });
  const ids = others.map((found) => new Set(found.map(idOf)));
  return first.filter((one) => ids.every((all) => all.has(idOf(one))));
}

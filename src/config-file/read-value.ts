// Reads the value of a setting, and for a list of records the value of each entry, with the position of each. A value of
// a different type, or an unknown key, is an error with line and column.

import { didYouMean } from "../core/did-you-mean.ts";
import type { Field, FieldKind, Fields } from "../core/settings.ts";
import { type Located, type LocatedEntry, type PlacedProblem, problemAt, type TextPlace } from "./located.ts";

export interface ReadValue {
  /** Unset if the value has the wrong type. */
  readonly raw?: string;
  /** Positions by path: `regions`, `regions[0]`, `regions[0].name`. */
  readonly places: readonly (readonly [path: string, place: TextPlace])[];
  readonly problems: readonly PlacedProblem[];
}

function refused(key: string, value: Located, text: string): ReadValue {
  const problem = {
    ...problemAt(value.place, "InvalidSetting", `${key} ${text}, got ${typeOf(value)}`),
    key,
  };
  return { places: [], problems: [problem] };
}

export function readValue(key: string, field: Field<unknown>, value: Located, what: string): ReadValue {
  if (field.kind !== "records") {
    const read = toRaw(key, field, value);
    if ("problem" in read) return { places: [], problems: [read.problem] };
    return { raw: read.raw, places: [[key, value.place]], problems: [] };
  }
  if (value.kind !== "list") return refused(key, value, "must be a list of mappings");
  const entries = value.entries.map((entry, index) =>
    readEntry(`${key}[${index}]`, field.entry ?? {}, entry, what),
  );
  return {
    // Invalid values are omitted, so that all other values are still checked.
    raw: JSON.stringify(entries.map(({ values }) => values)),
    places: [[key, value.place], ...entries.flatMap(({ places }) => places)],
    problems: entries.flatMap(({ problems }) => problems),
  };
}

function readEntry(
  key: string,
  fields: Fields,
  entry: Located,
  what: string,
): ReadValue & { readonly values: Readonly<Record<string, string>> } {
  if (entry.kind !== "map") return { values: {}, ...refused(key, entry, "must be a mapping") };
  const values: Record<string, string> = {};
  const places: ReadValue["places"][number][] = [[key, entry.place]];
  const problems: PlacedProblem[] = [];
  for (const one of entry.entries) {
    const field: Field<unknown> | undefined = Object.hasOwn(fields, one.key) ? fields[one.key] : undefined;
    if (field === undefined) {
      problems.push(unknownKey(one, what, Object.keys(fields), `${key}.`));
      continue;
    }
    const read = readValue(`${key}.${one.key}`, field, one.value, what);
    if (read.raw !== undefined) values[one.key] = read.raw;
    places.push(...read.places);
    problems.push(...read.problems);
  }
  return { values, places, problems };
}

type Raw = { readonly raw: string } | { readonly problem: PlacedProblem };

const expectedTypes: Readonly<Record<FieldKind | "text", string>> = {
  switch: "true or false",
  number: "a number",
  duration: "a duration such as 15s or 1h30m",
  list: "a list",
  pairs: "a mapping of names to values",
  repeated: "a list of strings",
  records: "a list of mappings",
  text: "a string",
};

/** The type of a value, without the value itself, which may be a secret. */
export function typeOf(value: Located): string {
  if (value.kind !== "scalar") return value.kind === "list" ? "a list" : "a mapping";
  if (value.value === null) return "nothing";
  const { value: plain } = value;
  return typeof plain === "boolean"
    ? `the boolean ${plain}`
    : `a ${typeof plain === "string" ? "string" : "number"}`;
}

function hint(kind: FieldKind | "text", value: Located): string {
  return kind === "text" && value.kind === "scalar" && value.value !== null ? "; put it in quotes" : "";
}

function scalarText(value: Located): string | undefined {
  return value.kind === "scalar" && value.value !== null ? value.source : undefined;
}

/** Converts a value to the string that a flag or an environment variable would have, so that one table parses all three. */
function toRaw(key: string, field: Field<unknown>, value: Located): Raw {
  const kind = field.kind ?? "text";
  const refuse = (at: Located, text: string): Raw => ({
    problem: { ...problemAt(at.place, "InvalidSetting", `${key} ${text}`), key },
  });
  const wrongKind = refuse(value, `must be ${expectedTypes[kind]}, got ${typeOf(value)}${hint(kind, value)}`);
  const joined = (
    separator: string,
    entries: readonly Located[],
    texts: readonly (string | undefined)[],
  ): Raw => {
    for (const [index, text] of texts.entries()) {
      const entry = entries[index] ?? value;
      if (text === undefined)
        return refuse(entry, `must be ${expectedTypes[kind]} of single values, got ${typeOf(entry)}`);
      if (text.includes(separator)) {
        return refuse(
          entry,
          `has an entry that contains ${JSON.stringify(separator)}; write each value as its own entry`,
        );
      }
    }
    return { raw: texts.join(separator) };
  };

  if (kind === "pairs") {
    if (value.kind !== "map") return wrongKind;
    const values = value.entries.map((entry) => entry.value);
    const texts = value.entries.map((entry) => {
      const text = scalarText(entry.value);
      return text === undefined ? undefined : `${entry.key}=${text}`;
    });
    return joined(",", values, texts);
  }
  if (kind === "list" || kind === "repeated") {
    if (value.kind !== "list") return wrongKind;
    return joined(kind === "list" ? "," : "\n", value.entries, value.entries.map(scalarText));
  }
  if (value.kind !== "scalar") return wrongKind;
  const fits =
    (kind === "switch" && typeof value.value === "boolean") ||
    (kind === "number" && typeof value.value === "number") ||
    ((kind === "text" || kind === "duration") && typeof value.value === "string");
  return fits ? { raw: value.source } : wrongKind;
}

/** `prefix`: the path of the mapping that contains the key, such as `regions[0].`. */
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

// Reads the value of one setting, and for a list of records the value of each of its entries, with the position of each.

import type { Field, Fields } from "../core/settings.ts";
import { type Located, type Place, type PlacedProblem, problemAt } from "./located.ts";
import { toRaw, typeOf } from "./to-raw.ts";
import { unknownKey } from "./unknown-key.ts";

export interface ReadValue {
  /** Absent if it has the wrong type. */
  readonly raw?: string;
  /** By path: `regions`, `regions[0]`, `regions[0].name`. */
  readonly places: readonly (readonly [path: string, place: Place])[];
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
    // Invalid values are left out, so that all others are checked too.
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

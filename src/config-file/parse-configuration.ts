// Reads the --config file: flags and cloud settings, by name. Parsing is strict: unknown keys, duplicates and values of the
// wrong type are errors, all reported together, each with its line and column.

import type { Field, Fields } from "../core/settings.ts";
import {
  type Located,
  type ParsedDocument,
  type PlacedProblem,
  problemAt,
  type TextPlace,
} from "./located.ts";
import { readValue, unknownKey } from "./read-value.ts";

export const configurationKind = "FairleadConfiguration";
export const configurationVersion = "fairlead.dev/v1alpha1";

export interface RawSection {
  readonly raw: Readonly<Record<string, string>>;
  /** Positions by setting name, and by the path of each value in a list of records. */
  readonly places: ReadonlyMap<string, TextPlace>;
}

export interface RawConfiguration {
  readonly flags: RawSection;
  readonly cloud: RawSection;
  readonly problems: readonly PlacedProblem[];
}

export interface ConfigurationTables {
  readonly flags: Fields;
  readonly cloud: Fields;
  /** Flags that the file cannot contain, with the remedy for each. */
  readonly notInFile: Readonly<Record<string, string>>;
}

const topLevelKeys = ["apiVersion", "kind", "flags", "cloud"] as const;
const start: TextPlace = { line: 1, column: 1 };
const emptySection: RawSection = { raw: {}, places: new Map() };

export function parseConfiguration(
  { root, problems: found }: ParsedDocument,
  { flags, cloud, notInFile }: ConfigurationTables,
): RawConfiguration {
  const problems = [...found];
  if (root === undefined || root.kind !== "map") {
    if (problems.length === 0) {
      const message = "expected a mapping with apiVersion, kind, and flags or cloud";
      problems.push(problemAt(root?.place ?? start, "InvalidConfiguration", message));
    }
    return { flags: emptySection, cloud: emptySection, problems };
  }

  const section = (value: Located | undefined, name: string, what: string, fields: Fields): RawSection => {
    const raw: Record<string, string> = {};
    const places = new Map<string, TextPlace>();
    if (value === undefined || (value.kind === "scalar" && value.value === null)) return { raw, places };
    if (value.kind !== "map") {
      problems.push(
        problemAt(value.place, "InvalidConfiguration", `${name} must be a mapping of names to values`),
      );
      return { raw, places };
    }
    for (const entry of value.entries) {
      const field: Field<unknown> | undefined = Object.hasOwn(fields, entry.key)
        ? fields[entry.key]
        : undefined;
      const reason = name === "flags" ? notInFile[entry.key] : undefined;
      if (reason !== undefined)
        problems.push(problemAt(entry.keyPlace, "NotInFile", `${entry.key} ${reason}`));
      else if (field === undefined) problems.push(unknownKey(entry, what, Object.keys(fields)));
      else {
        const read = readValue(entry.key, field, entry.value, what);
        problems.push(...read.problems);
        if (read.raw !== undefined) raw[entry.key] = read.raw;
        for (const [path, place] of read.places) places.set(path, place);
      }
    }
    return { raw, places };
  };

  const valueAt = (name: string) => root.entries.find(({ key }) => key === name)?.value;
  const requireValue = (name: string, expected: string): void => {
    const value = valueAt(name);
    if (value?.kind === "scalar" && value.value === expected) return;
    const message = `${name} must be ${expected}${value === undefined ? "; it is missing" : ", got a different value"}`;
    problems.push(problemAt(value?.place ?? root.place, "InvalidConfiguration", message));
  };
  requireValue("apiVersion", configurationVersion);
  requireValue("kind", configurationKind);
  for (const entry of root.entries) {
    if (!topLevelKeys.some((name) => name === entry.key))
      problems.push(unknownKey(entry, "key", topLevelKeys));
  }
  return {
    flags: section(valueAt("flags"), "flags", "flag", flags),
    cloud: section(valueAt("cloud"), "cloud", "setting of the cloud", cloud),
    problems: problems.toSorted(
      (one, other) => one.place.line - other.place.line || one.place.column - other.place.column,
    ),
  };
}

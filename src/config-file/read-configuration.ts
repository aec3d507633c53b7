// One file that may carry everything: flags by their names and the cloud's settings by theirs. Strict: what is not known,
// stands twice or has the wrong kind is refused, all of it at once and each where it stands.

import { didYouMean } from "../core/did-you-mean.ts";
import type { Field, Fields } from "../core/settings.ts";
import {
  type Located,
  type LocatedEntry,
  type ParsedDocument,
  type Place,
  type PlacedProblem,
  placed,
} from "./located.ts";
import { toRaw } from "./to-raw.ts";

export const configurationKind = "FairleadConfiguration";
export const configurationVersion = "fairlead.dev/v1alpha1";

export interface RawSection {
  readonly raw: Readonly<Record<string, string>>;
  readonly places: ReadonlyMap<string, Place>;
}

export interface RawConfiguration {
  readonly flags: RawSection;
  readonly cloud: RawSection;
  readonly problems: readonly PlacedProblem[];
}

export interface ConfigurationTables {
  readonly flags: Fields;
  readonly cloud: Fields;
  /** Flags that a file cannot hold, with what to do. */
  readonly notHere: Readonly<Record<string, string>>;
}

const top = ["apiVersion", "kind", "flags", "cloud"] as const;
const start: Place = { line: 1, column: 1 };
const none: RawSection = { raw: {}, places: new Map() };

function unknown({ key, keyPlace }: LocatedEntry, what: string, known: readonly string[]): PlacedProblem {
  const meant = didYouMean(key, known);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const shown = key.length > 80 ? `${key.slice(0, 80)}…` : key;
  return { ...placed(keyPlace, "UnknownKey", `${shown} is no ${what}${hint}`), key: shown };
}

export function readConfiguration(
  { root, problems: found }: ParsedDocument,
  { flags, cloud, notHere }: ConfigurationTables,
): RawConfiguration {
  const problems = [...found];
  if (root === undefined || root.kind !== "map") {
    if (problems.length === 0) {
      const says = `a mapping with apiVersion, kind and flags or cloud was expected`;
      problems.push(placed(root?.place ?? start, "InvalidConfiguration", says));
    }
    return { flags: none, cloud: none, problems };
  }

  const section = (value: Located | undefined, name: string, what: string, fields: Fields): RawSection => {
    const raw: Record<string, string> = {};
    const places = new Map<string, Place>();
    // A section with nothing in it is an empty one.
    if (value === undefined || (value.kind === "scalar" && value.value === null)) return { raw, places };
    if (value.kind !== "map") {
      problems.push(
        placed(value.place, "InvalidConfiguration", `${name} must be a mapping of names to values`),
      );
      return { raw, places };
    }
    for (const entry of value.entries) {
      const field: Field<unknown> | undefined = Object.hasOwn(fields, entry.key)
        ? fields[entry.key]
        : undefined;
      const elsewhere = name === "flags" ? notHere[entry.key] : undefined;
      if (elsewhere !== undefined)
        problems.push(placed(entry.keyPlace, "NotInFile", `${entry.key} ${elsewhere}`));
      else if (field === undefined) problems.push(unknown(entry, what, Object.keys(fields)));
      else {
        const read = toRaw(entry.key, field, entry.value);
        if ("problem" in read) problems.push(read.problem);
        else {
          raw[entry.key] = read.raw;
          places.set(entry.key, entry.value.place);
        }
      }
    }
    return { raw, places };
  };

  const valueAt = (name: string) => root.entries.find(({ key }) => key === name)?.value;
  const demand = (name: string, expected: string): void => {
    const value = valueAt(name);
    if (value?.kind === "scalar" && value.value === expected) return;
    const got = value === undefined ? "is missing" : "is another one";
    const says = `${name} must be ${expected}; it ${got}`;
    problems.push(placed(value?.place ?? root.place, "InvalidConfiguration", says));
  };
  demand("apiVersion", configurationVersion);
  demand("kind", configurationKind);
  for (const entry of root.entries) {
    if (!top.some((name) => name === entry.key)) problems.push(unknown(entry, "key of this file", top));
  }
  return {
    flags: section(valueAt("flags"), "flags", "flag", flags),
    cloud: section(valueAt("cloud"), "cloud", "setting of this cloud", cloud),
    problems: problems.toSorted(
      (one, other) => one.place.line - other.place.line || one.place.column - other.place.column,
    ),
  };
}

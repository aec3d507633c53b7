// Reads a list of records from environment variables: one set of variables for each entry. Pure.

import type { Fields } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";

type Entry = Readonly<Record<string, string>>;

/** The value of `{id}` in a variable name; undefined if the name does not match. */
function idIn(name: string, pattern: string): string | undefined {
  const [before = "", after = ""] = pattern.split("{id}");
  const isIt = name.startsWith(before) && name.endsWith(after) && name.length > before.length + after.length;
  return isIt ? name.slice(before.length, name.length - after.length) : undefined;
}

/** The variables of settings that are not list entries. */
const settingsIn = (config: Fields): ReadonlySet<string> =>
  new Set(Object.values(config).flatMap(({ env }) => env ?? []));

/** The entries by the variable that creates each, and all variables in use. */
function entriesIn(config: Fields, setting: string, environment: Environment) {
  const { unique = "", values = {} } = config[setting]?.entryVariables ?? {};
  const single = settingsIn(config);
  const ids = Object.entries(environment).flatMap(([name, value]) => {
    const id =
      value === undefined || value === "" || single.has(name)
        ? undefined
        : idIn(name, values[unique] ?? "{id}");
    return id === undefined ? [] : [id];
  });
  const used = new Set<string>();
  const entries = ids.toSorted().map((id): Entry => {
    const own = Object.entries(values).flatMap(([name, pattern]) => {
      const variable = pattern.replace("{id}", id);
      const value = environment[variable] ?? "";
      if (value !== "") used.add(variable);
      return value === "" ? [] : [[name, value] as const];
    });
    return Object.fromEntries(own);
  });
  return { unique, entries, used };
}

const withVariables = (config: Fields): readonly string[] =>
  Object.entries(config).flatMap(([name, { entryVariables }]) =>
    entryVariables === undefined ? [] : [name],
  );

/** The variables that belong to an entry. */
export function entryVariablesIn(config: Fields, environment: Environment): ReadonlySet<string> {
  return new Set(withVariables(config).flatMap((name) => [...entriesIn(config, name, environment).used]));
}

function parsed(text: string | undefined): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Lists of records, including entries from variables, as the texts that their fields parse. `raw`
 * contains the entries from files.
 */
export function withEntryVariables(
  config: Fields,
  environment: Environment,
  raw: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const changed = withVariables(config).flatMap((name) => {
    const { unique, entries } = entriesIn(config, name, environment);
    const present = parsed(raw[name]);
    if (entries.length === 0 || present === undefined) return [];
    const own = new Map(entries.map((entry) => [entry[unique], entry]));
    const nameOf = (entry: unknown) => (Object(entry) as Entry)[unique] ?? "";
    const replaced = present.map((entry) => own.get(nameOf(entry)) ?? entry);
    const known = new Set(present.map(nameOf));
    const added = [...own].flatMap(([value, entry]) => (known.has(value ?? "") ? [] : [entry]));
    return [[name, JSON.stringify([...replaced, ...added])] as const];
  });
  return { ...raw, ...Object.fromEntries(changed) };
}

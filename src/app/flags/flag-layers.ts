// Merges flags from several layers, such as the file and the command line: the later layer takes precedence, even if
// it uses another name of the same flag.

import type { Field, Fields } from "../../core/settings.ts";

export type RawFlags = Readonly<Record<string, string>>;

/** The last layer takes precedence. Two names in one layer are both kept, so that the conflict can be reported. */
export function mergeLayers(fields: Fields, layers: readonly RawFlags[]): RawFlags {
  const namesOf = namesOfRenamed(fields);
  return layers.reduce((below, above) => {
    const hidden = new Set(Object.keys(above).flatMap((name) => namesOf.get(name) ?? [name]));
    return { ...Object.fromEntries(Object.entries(below).filter(([name]) => !hidden.has(name))), ...above };
  }, {});
}

/** All names of each renamed flag, by each of them. */
function namesOfRenamed(fields: Fields): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.entries<Field<unknown>>(fields).flatMap(([name, { renamedFrom }]) => {
      const names = [name, ...(renamedFrom ?? [])];
      return renamedFrom === undefined ? [] : names.map((one) => [one, names] as const);
    }),
  );
}

/** As in pflag, an empty string means unset. An empty list stays, because it clears the list. */
export function withoutEmptyStrings(fields: Fields, given: RawFlags): RawFlags {
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const field: Field<unknown> | undefined = fields[name];
      return value !== "" || field === undefined || field.kind !== undefined || field.fallback !== undefined;
    }),
  );
}

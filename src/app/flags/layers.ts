// Which of several places counts for a flag: the later one, under whichever of its names it is written there. Two names in
// one place both stay, so that somebody can say which of them counts.

import type { Field, Fields } from "../../core/settings.ts";

export type RawFlags = Readonly<Record<string, string>>;

/** The last layer counts most. */
export function layered(fields: Fields, layers: readonly RawFlags[]): RawFlags {
  const namesOf = namesIn(fields);
  return layers.reduce((below, above) => {
    const hidden = new Set(Object.keys(above).flatMap((name) => namesOf.get(name) ?? [name]));
    return { ...Object.fromEntries(Object.entries(below).filter(([name]) => !hidden.has(name))), ...above };
  }, {});
}

/** By each name that a flag has or had, all of them; only flags that were renamed. */
function namesIn(fields: Fields): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.entries<Field<unknown>>(fields).flatMap(([name, { renamedFrom }]) => {
      const names = [name, ...(renamedFrom ?? [])];
      return renamedFrom === undefined ? [] : names.map((one) => [one, names] as const);
    }),
  );
}

// What is said about flags that were given and do nothing here: once each, with what to use in their place.

import type { Problem } from "../../core/problem.ts";
import type { Field, Fields } from "../../core/settings.ts";
import { notesOf } from "./flag-notes.ts";

/** What is so anyway need not be said: `--use-service-account-credentials=false`. */
function asksNothing(field: Field<unknown> | undefined, value: string): boolean {
  const parsed = field?.parse(value);
  return (
    field?.fallback !== undefined &&
    parsed !== undefined &&
    "value" in parsed &&
    parsed.value === field.fallback
  );
}

/** `given` are the flags that somebody wrote, not those that are preset. */
export function flagWarnings(fields: Fields, given: Readonly<Record<string, string>>): readonly Problem[] {
  return Object.entries(given).flatMap(([name, value]): readonly Problem[] => {
    const field: Field<unknown> | undefined = fields[name];
    const { noEffect, deprecated } = field === undefined ? {} : notesOf(field);
    if (noEffect === undefined || (deprecated !== true && asksNothing(field, value))) return [];
    const old = deprecated === true ? " and is deprecated" : "";
    const text = `--${name} has no effect${old}: ${noEffect}`;
    return [{ severity: "warning", reason: "FlagWithoutEffect", key: `--${name}`, text }];
  });
}

/** As pflag: an empty text is none. An empty list empties the list, so it stays. */
export function withoutEmptyTexts(
  fields: Fields,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const field: Field<unknown> | undefined = fields[name];
      return value !== "" || field === undefined || field.kind !== undefined || field.fallback !== undefined;
    }),
  );
}

// Converts a value of the file to the string that a flag or an environment variable would have, so that one table parses all
// three. A value of another type than the field's is an error with line and column. For lists of records see
// `read-records.ts`.

import type { Field, FieldKind } from "../core/settings.ts";
import { type Located, type PlacedProblem, problemAt } from "./located.ts";

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

/** The type of a value, without the value itself: it may be a secret. */
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

export function toRaw(key: string, field: Field<unknown>, value: Located): Raw {
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

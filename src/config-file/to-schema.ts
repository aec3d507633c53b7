// Converts a table of settings to a JSON Schema for editors and CI. The schema accepts exactly what
// `parse-configuration.ts` accepts. Pure.

import { defined } from "../core/defined.ts";
import type { Field, FieldKind, Fields } from "../core/settings.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

const single = { type: ["string", "number", "boolean"] } as const;

const shapes: Readonly<Record<FieldKind | "text", JsonSchema>> = {
  switch: { type: "boolean" },
  number: { type: "number" },
  duration: { type: "string", examples: ["15s", "1h30m"] },
  list: { type: "array", items: single },
  repeated: { type: "array", items: single },
  pairs: { type: "object", additionalProperties: single },
  text: { type: "string" },
  records: { type: "array" },
};

/** Includes only literal defaults, no secrets and no durations. */
function defaultOf({ fallback, kind }: Field<unknown>): unknown {
  const isLiteral =
    ["boolean", "string"].includes(typeof fallback) || (kind === "number" && typeof fallback === "number");
  return isLiteral ? fallback : undefined;
}

/** The schema of a record list's entries. Their required values have no other source, such as a variable. */
function itemsOf(entry: Fields): JsonSchema {
  const required = Object.keys(entry).filter((name) => entry[name]?.required === true);
  return { type: "object", additionalProperties: false, required, properties: propertiesOf(entry) };
}

function schemaOf(field: Field<unknown>): JsonSchema {
  const { text, expects, kind, entry } = field;
  return {
    description: kind === "records" ? text : `${text} Must be ${expects}.`,
    ...shapes[kind ?? "text"],
    ...defined({
      items: entry && itemsOf(entry),
      minItems: entry && field.required === true ? 1 : undefined,
    }),
    ...defined({ enum: field.kind === undefined ? field.choices : undefined, default: defaultOf(field) }),
  };
}

/** Only current names, because former names never worked in a file. */
export function propertiesOf(
  fields: Fields,
  more: (field: Field<unknown>) => JsonSchema = () => ({}),
): JsonSchema {
  return Object.fromEntries(
    Object.entries<Field<unknown>>(fields).map(([name, field]) => [
      name,
      { ...schemaOf(field), ...more(field) },
    ]),
  );
}

/** Annotations are always strings; annotations of other tools are allowed. */
export function annotationsSchema(fields: Readonly<Record<string, Field<unknown>>>): JsonSchema {
  return {
    type: "object",
    additionalProperties: { type: "string" },
    properties: Object.fromEntries(
      Object.entries(fields).map(([key, { text, expects, choices, fallback }]) => [
        key,
        defined({
          type: "string",
          description: `${text} Must be ${expects}.`,
          enum: choices,
          default: typeof fallback === "string" ? fallback : undefined,
        }),
      ]),
    ),
  };
}

// A table of settings as JSON Schema, for editors and checks that know nothing of us: what `to-raw.ts` takes, no more and no
// less. Pure.

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
};

/** Only what is written as it stands: never a secret, and no duration as a number. */
function fallbackOf({ fallback, kind }: Field<unknown>): JsonSchema {
  return ["boolean", "string"].includes(typeof fallback) ||
    (kind === "number" && typeof fallback === "number")
    ? { default: fallback }
    : {};
}

function schemaOf(field: Field<unknown>): JsonSchema {
  return {
    description: `${field.text} Must be ${field.expects}.`,
    ...shapes[field.kind ?? "text"],
    ...(field.choices !== undefined && field.kind === undefined && { enum: field.choices }),
    ...fallbackOf(field),
  };
}

/** Only under its present name: a file never knew another one. */
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

/** Annotations are texts, whatever they say; other keys are none of our business. */
export function annotationsSchema(fields: Readonly<Record<string, Field<unknown>>>): JsonSchema {
  return {
    type: "object",
    additionalProperties: { type: "string" },
    properties: Object.fromEntries(
      Object.entries(fields).map(([key, { text, expects, choices, fallback }]) => [
        key,
        {
          type: "string",
          description: `${text} Must be ${expects}.`,
          ...(choices !== undefined && { enum: choices }),
          ...(typeof fallback === "string" && { default: fallback }),
        },
      ]),
    ),
  };
}

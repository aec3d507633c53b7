// The parsed schema table: the type of each field, and how its lists are merged.

import { defined } from "../../../core/defined.ts";
import { schemaTable } from "./schema-table.ts";

export type Scalar = "s" | "i" | "n" | "b" | "t" | "q" | "x" | "o";

export type FieldType =
  | { readonly is: "scalar"; readonly scalar: Scalar }
  | { readonly is: "list"; readonly item: FieldType }
  | { readonly is: "map"; readonly item: FieldType }
  | { readonly is: "type"; readonly name: string };

export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: FieldType;
  /** The key by which a strategic merge patch merges the list; the empty key merges scalars as a set. */
  readonly mergeKey?: string;
  /** The keys that identify an item in server-side apply; an empty list means a set. */
  readonly listKeys?: readonly string[];
}

export type Fields = ReadonlyMap<string, Field>;

function readType(text: string): FieldType {
  if (text.startsWith("[")) return { is: "list", item: readType(text.slice(1, -1)) };
  if (text.startsWith("{")) return { is: "map", item: readType(text.slice(1, -1)) };
  if (text.length === 1) return { is: "scalar", scalar: text as Scalar };
  return { is: "type", name: text };
}

function readField(text: string): Field {
  const match = /^([^:!]+)(!?):([^@%#]+)(@[^%#]*)?(%)?(#.*)?$/.exec(text);
  const [, name, bang, type, merge, , keys] = match ?? [];
  if (name === undefined || type === undefined)
    throw new TypeError(`Invalid field in the schema table: ${text}`);
  return defined({
    name,
    isRequired: bang === "!",
    type: readType(type),
    mergeKey: merge?.slice(1),
    listKeys: keys?.slice(1).split(",").filter(Boolean),
  });
}

const types = new Map<string, Fields>();

const lines = new Map(
  schemaTable
    .trim()
    .split("\n")
    .map((line) => [line.slice(0, `${line} `.indexOf(" ")), line]),
);

/** The fields of a type, or undefined for a type that is not in the table. */
export function fieldsOf(type: string): Fields | undefined {
  const known = types.get(type);
  if (known !== undefined) return known;
  const line = lines.get(type);
  if (line === undefined) return undefined;
  const fields = new Map<string, Field>();
  for (const text of line.split(" ").slice(1)) {
    if (text === "") continue;
    const field = readField(text);
    fields.set(field.name, field);
  }
  types.set(type, fields);
  return fields;
}

// The form of the chart's values: each has a text, a default and a JSON Schema. values.yaml, its
// schema and the table in the README are generated from one tree.

import { comment, keyComments } from "../../../src/app/manifests/to-yaml.ts";
import type { JsonSchema } from "../../../src/config-file/to-schema.ts";

export interface Value {
  readonly text: string;
  readonly fallback: unknown;
  readonly schema: JsonSchema;
}

export interface ValueGroup {
  readonly text: string;
  readonly values: ValueTree;
}

export type ValueTree = Readonly<Record<string, Value | ValueGroup>>;

const isGroup = (entry: Value | ValueGroup): entry is ValueGroup => "values" in entry;

/** The content of values.yaml, with comments. */
export function defaultsOf(tree: ValueTree): object {
  return {
    ...Object.fromEntries(
      Object.entries(tree).map(([name, entry]) => [
        name,
        isGroup(entry) ? defaultsOf(entry.values) : entry.fallback,
      ]),
    ),
    [keyComments]: Object.fromEntries(Object.entries(tree).map(([name, { text }]) => [name, text])),
  };
}

export const withHeader = (header: string, content: object): object => ({ [comment]: header, ...content });

/** Unknown keys are rejected at every level. */
export function schemaOf(tree: ValueTree): JsonSchema {
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(tree).map(([name, entry]) => [
        name,
        isGroup(entry)
          ? { description: entry.text, ...schemaOf(entry.values) }
          : { description: entry.text, ...entry.schema },
      ]),
    ),
  };
}

export interface ValueRow {
  readonly path: string;
  readonly text: string;
  readonly fallback: unknown;
}

export function rowsOf(tree: ValueTree, prefix = ""): readonly ValueRow[] {
  return Object.entries(tree).flatMap(([name, entry]) => {
    const path = prefix + name;
    return isGroup(entry)
      ? rowsOf(entry.values, `${path}.`)
      : [{ path, text: entry.text, fallback: entry.fallback }];
  });
}

// The builder of a setting that is a list of records, such as regions with a name, an endpoint and a network each. The values
// in a record are fields like all other settings.

import { type Built, buildField, type FieldOptions } from "./fields.ts";
import type { Problem } from "./problem.ts";
import { readSettings } from "./read-settings.ts";
import type { Field, FieldContext, Fields, ParsedField, SettingKind, Values } from "./settings.ts";

/** Options of `records`. */
export interface RecordOptions<F extends Fields> extends FieldOptions<readonly Values<F>[]> {
  /** The field whose value must differ between entries, such as their name. */
  readonly unique?: keyof F & string;
  /** The variable of each value, with `{id}`, such as `ACME_{id}_TOKEN`. Requires `unique`. */
  readonly variables?: Readonly<Partial<Record<keyof F & string, string>>>;
}

const notRecords = { wrong: "text that is not a JSON array of objects" };

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text that a flag or an annotation would contain. Undefined if the value does not have the field's type. */
function textOf(value: unknown, kind: Field<unknown>["kind"]): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (kind === "records") return Array.isArray(value) ? JSON.stringify(value) : undefined;
  const entries: readonly unknown[] | undefined =
    kind === "pairs" && isMapping(value)
      ? Object.entries(value).map(([name, entry]) => `${name}=${textOf(entry, undefined)}`)
      : (kind === "list" || kind === "repeated") && Array.isArray(value)
        ? value.map((entry) => textOf(entry, undefined))
        : undefined;
  const separator = kind === "repeated" ? "\n" : ",";
  const isPlain = entries?.every((entry) => typeof entry === "string" && !entry.includes(separator));
  return isPlain === true ? entries?.join(separator) : undefined;
}

function typeOf(value: unknown): string {
  if (value === null) return "nothing";
  return Array.isArray(value) ? "a list" : "a mapping";
}

function parseJson(raw: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  try {
    const parsed: unknown = JSON.parse(raw);
    return Array.isArray(parsed) && parsed.every(isMapping) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function invalid(key: string, what: SettingKind, text: string): Problem {
  const reason = `Invalid${what.charAt(0).toUpperCase()}${what.slice(1)}`;
  return { severity: "error", reason, key, text: `${key} ${text}` };
}

/** Entries that repeat the value of an earlier entry. */
function repeatedValues(
  values: readonly Readonly<Record<string, unknown>>[],
  unique: string,
  { key, what }: FieldContext,
): readonly Problem[] {
  const known = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = String(value[unique]);
    const first = known.get(text);
    known.set(text, first ?? index);
    if (first === undefined || value[unique] === undefined) return [];
    const message = `must differ from ${key}[${first}].${unique}, got ${JSON.stringify(text)} twice`;
    return [invalid(`${key}[${index}].${unique}`, what, message)];
  });
}

function readEntries<F extends Fields>(
  fields: F,
  entries: readonly Readonly<Record<string, unknown>>[],
  { key, what }: FieldContext,
): { readonly value: readonly Values<F>[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const value = entries.map((entry, index) => {
    const prefix = `${key}[${index}].`;
    const raw: Record<string, string> = {};
    const wrong = new Map<string, Problem>();
    for (const [name, one] of Object.entries(entry)) {
      const field: Field<unknown> | undefined = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const text = textOf(one, field?.kind);
      const own = prefix + name;
      if (text !== undefined) raw[own] = text;
      // An unknown name is reported even without its text.
      else if (field === undefined) raw[own] = "";
      else wrong.set(own, invalid(own, what, `must be ${field.expects}, got ${typeOf(one)}`));
    }
    const read = readSettings(fields, raw, { prefix, what });
    problems.push(...wrong.values());
    for (const problem of read.problems) {
      if (wrong.has(problem.key ?? "")) continue;
      // No other program reads the entries, so an unknown name is a typo.
      problems.push(problem.reason.startsWith("Unknown") ? { ...problem, severity: "error" } : problem);
    }
    return read.values;
  });
  return { value, problems };
}

/**
 * A list of records. In a file it is a list of mappings, and each error has its line; in an environment variable it is a JSON
 * array of objects. `--config-set` cannot set it. With `required`, the list needs at least one entry.
 *
 * @example
 * const config = {
 *   regions: records(
 *     "The regions to manage.",
 *     { name: text("Name of the region.", { required: true }), endpoint: text("URL of its API.", { required: true }) },
 *     { required: true, unique: "name" },
 *   ),
 * };
 */
export function records<F extends Fields, const O extends RecordOptions<F>>(
  what: string,
  entry: F,
  options?: O,
): Built<readonly Values<F>[], O> {
  for (const [name, { env, flag }] of Object.entries<Field<unknown>>(entry)) {
    if (env !== undefined || flag !== undefined)
      throw new Error(`${name} is a value of an entry, so it can have no environment variable and no flag.`);
  }
  const { unique, variables, ...others }: RecordOptions<F> = options ?? {};
  const parse = (
    raw: string,
    context: FieldContext = { key: "entry", what: "setting" },
  ): ParsedField<readonly Values<F>[]> => {
    const entries = parseJson(raw);
    if (entries === undefined) return notRecords;
    if (entries.length === 0 && others.required === true) return { wrong: "an empty list" };
    const { value, problems } = readEntries(entry, entries, context);
    const repeated = unique === undefined ? [] : repeatedValues(value, unique, context);
    return { value, problems: [...problems, ...repeated] };
  };
  const inVariable = others.env === undefined ? "" : " (in the variable: a JSON array of objects)";
  const expects = `a list of entries with ${Object.keys(entry).join(", ")}${inVariable}`;
  const entryVariables =
    unique === undefined || variables === undefined
      ? {}
      : { entryVariables: { unique, values: variables as Readonly<Record<string, string>> } };
  return buildField<readonly Values<F>[], O>(what, expects, parse, others as O, {
    kind: "records",
    entry,
    ...entryVariables,
  });
}

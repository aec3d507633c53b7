// Parses annotations, flags or settings with a table, and reports all problems together. Never throws, and takes plain text:
// other code reads files and the environment. Pure.

import { didYouMean } from "./did-you-mean.ts";
import type { Problem } from "./problem.ts";
import type { Field, FieldContext, Fields, SettingKind, Values } from "./settings.ts";
import { countOf } from "./text.ts";

/** How `readSettings` reads a table. */
export interface ReadOptions {
  /**
   * Only keys with this prefix are parsed; the table has the names without it. A name that contains "/" is a complete key.
   * If unset, every key is parsed.
   */
  readonly prefix?: string;
  /** The kind of setting, used in messages and, capitalized, in reasons: `UnknownAnnotation`, `InvalidSetting`. */
  readonly what: SettingKind;
}

/** The result of `readSettings`. */
export interface ReadSettings<F extends Fields> {
  /**
   * The values, with the default in place of each missing or invalid one. A missing or invalid `required` value is undefined
   * despite its type, so use the values only if there is no error, or check `frozen`.
   */
  readonly values: Values<F>;
  /** The names of invalid fields. What they control keeps its observed value, so a typo never silently selects the default. */
  readonly frozen: ReadonlySet<keyof F & string>;
  readonly problems: readonly Problem[];
}

function parseSafely(field: Field<unknown>, raw: string, context: FieldContext) {
  try {
    return field.parse(raw, context);
  } catch {
    // A bug in a provider's own field. The text may be a secret, so it is not shown.
    return { wrong: "a value that could not be parsed" };
  }
}

function choiceHint(field: Field<unknown>, raw: string): string {
  const meant = field.choices === undefined ? undefined : didYouMean(raw.trim(), field.choices);
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

const shorten = (key: string): string => (key.length > 120 ? `${key.slice(0, 120)}…` : key);

const nounOf = (what: SettingKind): string => `${what.charAt(0).toUpperCase()}${what.slice(1)}`;

/** A user fixes a few typos at a time, and a Service may have thousands of unknown annotations. */
const maxUnknown = 10;

/**
 * Keys that are not in the table, each with the name that may have been meant. After the first few keys, the rest are only
 * counted.
 */
function unknownKeys(
  keys: readonly string[],
  fields: Fields,
  { prefix = "", what }: ReadOptions,
): readonly Problem[] {
  const noun = nounOf(what);
  const unknown = { severity: "warning", reason: `Unknown${noun}` } as const;
  const names = Object.keys(fields).filter((name) => !name.includes("/"));
  const problems = keys.slice(0, maxUnknown).map((key): Problem => {
    const meant = didYouMean(key.slice(prefix.length), names);
    const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(prefix + meant)}?`;
    return { ...unknown, text: `${shorten(key)} is not a known ${what}${hint}`, key };
  });
  const first = keys[maxUnknown];
  if (first === undefined) return problems;
  const text = `not listed: ${countOf(keys.length - maxUnknown, `more unknown ${what}`)}, such as ${shorten(first)}`;
  return [...problems, { ...unknown, text, key: first }];
}

/** Reads text values by a table of fields. Invalid and unknown keys become problems. */
export function readSettings<F extends Fields>(
  fields: F,
  raw: Readonly<Record<string, string>>,
  { prefix = "", what }: ReadOptions,
): ReadSettings<F> {
  const noun = nounOf(what);
  const problems: Problem[] = [];
  const values: [string, unknown][] = [];
  const frozen = new Set<string>();
  const known = new Set<string>();
  const rawOf = (key: string): string | undefined => (Object.hasOwn(raw, key) ? raw[key] : undefined);

  const keyOf = (name: string): string => (name.includes("/") ? name : prefix + name);

  const findText = (name: string, field: Field<unknown>): { key: string; text: string } | undefined => {
    const key = keyOf(name);
    const text = rawOf(key);
    let found = text === undefined ? undefined : { key, text };
    for (const oldName of field.renamedFrom ?? []) {
      const oldKey = keyOf(oldName);
      const oldText = rawOf(oldKey);
      known.add(oldKey);
      if (oldText === undefined) continue;
      const hint =
        found === undefined
          ? "; use the new name"
          : `; both are set and ${key} takes precedence, so remove ${oldKey}`;
      problems.push({
        severity: "warning",
        reason: `Renamed${noun}`,
        text: `${oldKey} was renamed to ${key}${hint}`,
        key: oldKey,
      });
      found ??= { key: oldKey, text: oldText };
    }
    return found;
  };

  for (const [name, field] of Object.entries<Field<unknown>>(fields)) {
    known.add(keyOf(name));
    const found = findText(name, field);
    if (found === undefined) {
      if (field.fallback !== undefined) values.push([name, field.fallback]);
      else if (field.required === true) {
        const from = field.env === undefined ? "" : ` (environment variable ${field.env})`;
        const key = keyOf(name);
        problems.push({
          severity: "error",
          reason: `Missing${noun}`,
          text: `${key}${from} is required but not set; it must be ${field.expects}`,
          key,
        });
      }
      continue;
    }
    const parsed = parseSafely(field, found.text, { key: found.key, what });
    const inside = "problems" in parsed ? parsed.problems : [];
    problems.push(...inside);
    if ("value" in parsed && !inside.some(({ severity }) => severity === "error")) {
      values.push([name, parsed.value]);
      continue;
    }
    frozen.add(name);
    if (field.fallback !== undefined) values.push([name, field.fallback]);
    if ("value" in parsed) continue;
    problems.push({
      severity: "error",
      reason: `Invalid${noun}`,
      text: `${found.key} must be ${field.expects}, got ${parsed.wrong}${choiceHint(field, found.text)}`,
      key: found.key,
    });
  }

  const unknown = Object.keys(raw).filter((key) => key.startsWith(prefix) && !known.has(key));
  problems.push(...unknownKeys(unknown, fields, { prefix, what }));
  // The entries have exactly the names and types of the table.
  return {
    values: Object.fromEntries(values) as Values<F>,
    frozen: frozen as ReadonlySet<keyof F & string>,
    problems,
  };
}

// What somebody wrote, turned into values and a complaint about everything that is wrong with it, all at once. It never
// throws and reads nothing itself: annotations, files and the environment come in as plain text.

import { didYouMean } from "./did-you-mean.ts";
import type { Problem } from "./problem.ts";
import type { Field, Fields, Values } from "./settings.ts";

export interface ReadOptions {
  /**
   * Only keys that begin with it are ours; table names follow it, but a name with "/" in it is a whole key. Absent: every
   * key is ours.
   */
  readonly prefix?: string;
  /** Names what is read in texts and, capitalised, in reasons: `UnknownAnnotation`, `InvalidSetting`. */
  readonly what: "annotation" | "setting" | "flag";
}

export interface ReadSettings<F extends Fields> {
  /**
   * The fallback stands in for what is missing or wrong. A `required` one that is missing or wrong is absent in spite of
   * its type, so values are used only when there is no error, or with an eye on `frozen`.
   */
  readonly values: Values<F>;
  /** Names of fields whose text is wrong: what they govern keeps its observed value, never the fallback. */
  readonly frozen: ReadonlySet<keyof F & string>;
  readonly problems: readonly Problem[];
}

function parseSafely(field: Field<unknown>, raw: string) {
  try {
    return field.parse(raw);
  } catch {
    // A provider's own field is at fault; the text may be a secret, so it is not shown.
    return { wrong: "something that cannot be read" };
  }
}

function choiceMeant(field: Field<unknown>, raw: string): string {
  const meant = field.choices === undefined ? undefined : didYouMean(raw.trim(), field.choices);
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

const short = (key: string): string => (key.length > 120 ? `${key.slice(0, 120)}…` : key);

export function readSettings<F extends Fields>(
  fields: F,
  raw: Readonly<Record<string, string>>,
  { prefix = "", what }: ReadOptions,
): ReadSettings<F> {
  const noun = `${what.charAt(0).toUpperCase()}${what.slice(1)}`;
  const problems: Problem[] = [];
  const values: [string, unknown][] = [];
  const frozen = new Set<string>();
  const known = new Set<string>();
  const written = (key: string): string | undefined => (Object.hasOwn(raw, key) ? raw[key] : undefined);

  const keyOf = (name: string): string => (name.includes("/") ? name : prefix + name);

  const findText = (name: string, field: Field<unknown>): { key: string; text: string } | undefined => {
    const key = keyOf(name);
    const text = written(key);
    let found = text === undefined ? undefined : { key, text };
    for (const oldName of field.renamedFrom ?? []) {
      const oldKey = keyOf(oldName);
      const oldText = written(oldKey);
      known.add(oldKey);
      if (oldText === undefined) continue;
      const rest = found === undefined ? "" : `, which is set too and counts; remove ${oldKey}`;
      problems.push({
        severity: "warning",
        reason: `Renamed${noun}`,
        text: `${oldKey} was renamed to ${key}${rest}`,
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
          text: `${key}${from} is missing; it must be ${field.expects}`,
          key,
        });
      }
      continue;
    }
    const parsed = parseSafely(field, found.text);
    if ("value" in parsed) {
      values.push([name, parsed.value]);
      continue;
    }
    frozen.add(name);
    if (field.fallback !== undefined) values.push([name, field.fallback]);
    problems.push({
      severity: "error",
      reason: `Invalid${noun}`,
      text: `${found.key} must be ${field.expects}, got ${parsed.wrong}${choiceMeant(field, found.text)}`,
      key: found.key,
    });
  }

  const names = Object.keys(fields).filter((name) => !name.includes("/"));
  for (const key of Object.keys(raw)) {
    if (!key.startsWith(prefix) || known.has(key)) continue;
    const meant = didYouMean(key.slice(prefix.length), names);
    const rest = meant === undefined ? "" : `; did you mean ${JSON.stringify(prefix + meant)}?`;
    problems.push({
      severity: "warning",
      reason: `Unknown${noun}`,
      text: `${short(key)} is not known${rest}`,
      key,
    });
  }
  // Entries with exactly the names of the table; the types of the table say the rest.
  return {
    values: Object.fromEntries(values) as Values<F>,
    frozen: frozen as ReadonlySet<keyof F & string>,
    problems,
  };
}

// The types of a settings table: one entry per setting with its type, description and default. Parsing (`read-settings.ts`),
// help, the reference pages and error messages all use the table.

import type { Problem } from "./problem.ts";

/**
 * How a value is written. A command line appends `list`, `pairs` and `repeated`; a `switch` needs no value; a file holds a
 * value of that type. `records` is a list of mappings in a file, and a JSON array of objects elsewhere. Absent: a string.
 */
export type FieldKind = "switch" | "number" | "duration" | "list" | "pairs" | "repeated" | "records";

/** The subject of a settings table, for messages. */
export type SettingKind = "annotation" | "setting" | "flag" | "parameter";

/** The result of `Field.parse`: the value, or `wrong`: the given text, for the message "must be …, got …". */
export type ParsedField<T> =
  | { readonly value: T }
  | { readonly wrong: string }
  /** Several values in one text: each problem is a complete message. With an error, the value is not used. */
  | { readonly value: T; readonly problems: readonly Problem[] };

/** Where a value is from, for fields that report their own problems. */
export interface FieldContext {
  /** The complete key of the setting. */
  readonly key: string;
  readonly what: SettingKind;
}

/**
 * The file that may hold a value instead of its setting: the setting `NAME-file` has its path. A changed file is reread when the
 * value is needed. Only one of the two settings can be set.
 */
export interface ValueFile {
  /** The environment variable for the path, if the cloud's Go manager reads one. */
  readonly env?: string;
  /** A description of the value, without a period: one of the two settings is then required. */
  readonly required?: string;
}

/**
 * The variables with the values of an entry of `records`, by the name of the value, where a Go manager reads one set of variables
 * for each entry. `{id}` stands for the varying part. An entry exists where the variable of `unique` is set, and replaces one of a
 * file with the same value.
 */
export interface EntryVariables {
  readonly unique: string;
  readonly values: Readonly<Record<string, string>>;
}

/** One setting. Build it with `text`, `oneOf`, `integer` and so on, or write one for your own type. */
export interface Field<T> {
  /** One sentence for `--help` and the reference pages. */
  readonly text: string;
  /** The expected value; completes "must be …" in messages. */
  readonly expects: string;
  readonly kind?: FieldKind;
  /** An empty value has a meaning. If unset, an empty annotation counts as not set, because templates often render one. */
  readonly mayBeEmpty?: true;
  /** The allowed values, for "did you mean …?" and for the JSON Schema. */
  readonly choices?: readonly string[];
  /** With kind `records`: the fields of each entry. */
  readonly entry?: Fields;
  /** The default. */
  readonly fallback?: T;
  /** A missing value is an error. */
  readonly required?: boolean;
  /** The value is a secret: the message for rejected credentials names this setting. */
  readonly isSecret?: true;
  /** Former names. They still work and produce a warning. */
  readonly renamedFrom?: readonly string[];
  /** Configuration only: the environment variable that the cloud's Go manager reads. */
  readonly env?: string;
  /** Configuration only, with kind `records`: the variables of the cloud's Go manager that make an entry. */
  readonly entryVariables?: EntryVariables;
  /** Configuration only: the flag of the cloud's Go manager, without dashes. */
  readonly flag?: string;
  /** Configuration only: whether a changed value applies at a reload of the configuration, or after a restart. */
  readonly reload?: "live" | "restart";
  /** A change of the value is rejected once the cloud object exists. If unset, a change updates the object. */
  readonly whenChanged?: "reject";
  /** Configuration only: the value may be in a file instead, see `ValueFile`. */
  readonly file?: ValueFile;
  /** Configuration only: another setting of the table. Only one of the two can be set. */
  readonly exclusiveWith?: string;
  /**
   * It is accepted because manifests for the cloud's Go manager have it. It has no effect, and `text` says why. A warning reports
   * that it is ignored.
   */
  readonly ineffective?: true;
  /**
   * Annotations only: it has an effect only if each of these other annotations has one of the values or, if there are no values, is
   * set.
   */
  readonly onlyWith?: Readonly<Record<string, readonly unknown[]>>;
  /** Annotations only: another annotation that takes precedence. */
  readonly overriddenBy?: string;
  /** Configuration only: the value is an HTTP URL, with this default if it is not empty. Build it with `url`. */
  readonly urlLike?: string;
  /** Annotations only: the setting with which the operator sets the default, see `operatorDefaults`. */
  readonly defaultFrom?: string;
  /** Pure. Parses the text of the value. */
  parse(raw: string, context?: FieldContext): ParsedField<T>;
}

/** The description of a field for pages and help. */
export const textOfField = ({ text, ineffective }: Field<unknown>): string =>
  ineffective === true ? `No effect. ${text}` : text;

/** A table of settings by name: a provider's `config` or its annotations. */
// biome-ignore lint/suspicious/noExplicitAny: a table holds fields of any type; Values<> restores the exact types.
export type Fields = Readonly<Record<string, Field<any>>>;

/** The parsed value of a field. */
export type ValueOf<F> =
  F extends Field<infer T>
    ? F extends { readonly fallback: T } | { readonly required: true }
      ? T
      : T | undefined
    : never;

/** The parsed values of a table. A value is undefined only when its field has no default and is not required. */
export type Values<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** All fields with their names, including fields of list entries: `regions`, `regions[].name`. */
export function everyField(fields: Fields, prefix = ""): readonly (readonly [string, Field<unknown>])[] {
  return Object.entries<Field<unknown>>(fields).flatMap(([name, field]) => [
    [prefix + name, field] as const,
    ...everyField(field.entry ?? {}, `${prefix}${name}[].`),
  ]);
}

/** The name of the setting that a path is in: `regions` for `regions[0].name`. */
export const topLevelName = (path: string): string => path.split("[", 1)[0] ?? path;

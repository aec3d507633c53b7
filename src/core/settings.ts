// The types of a settings table: one entry per setting with its type, description and default. Parsing (`read-settings.ts`),
// help, the reference pages and error messages all use the table.

import type { Problem } from "./problem.ts";

/**
 * The form of a value. A command line appends `list`, `pairs` and `repeated`; a `switch` needs no value; a file contains a value
 * of that type. `records` is a list of mappings in a file, and a JSON array of objects elsewhere. If unset, a string.
 */
export type FieldKind = "switch" | "number" | "duration" | "list" | "pairs" | "repeated" | "records";

/** The kind of entry in a settings table, for messages. */
export type SettingKind = "annotation" | "setting" | "flag" | "parameter";

/** The result of `Field.parse`: the value, or `wrong`, which is the given text for the message "must be …, got …". */
export type ParsedField<T> =
  | { readonly value: T }
  | { readonly wrong: string }
  /** Several values in one text, where each problem is a complete message. With an error, the value is not used. */
  | { readonly value: T; readonly problems: readonly Problem[] };

/** Where a value comes from, for fields that report their own problems. */
export interface FieldContext {
  /** The complete key of the setting. */
  readonly key: string;
  readonly what: SettingKind;
}

/**
 * The file that may contain a value instead of its setting: the setting `NAME-file` is its path. The file is reread when it has
 * changed and the value is needed. Only one of the two settings can be set.
 */
export interface ValueFile {
  /** The environment variable for the path, if the cloud's Go manager reads one. */
  readonly env?: string;
  /** A description of the value, without a period. If set, one of the two settings is required. */
  readonly required?: string;
}

/**
 * The variables of an entry of `records`, by the name of the value, for Go managers that read one set of variables per entry.
 * `{id}` stands for the varying part. An entry exists if the variable of `unique` is set, and replaces an entry from a file with
 * the same value.
 */
export interface EntryVariables {
  readonly unique: string;
  readonly values: Readonly<Record<string, string>>;
}

/** One setting. Build it with `text`, `oneOf`, `integer` and so on, or write a field for your own type. */
export interface Field<T> {
  /** One sentence for `--help` and the reference pages. */
  readonly text: string;
  /** The expected value; completes "must be …" in messages. */
  readonly expects: string;
  readonly kind?: FieldKind;
  /**
   * An empty value has a meaning. If unset, an empty annotation counts as not set, because templates often produce empty values.
   */
  readonly mayBeEmpty?: true;
  /** The allowed values, for "did you mean …?" and for the JSON Schema. */
  readonly choices?: readonly string[];
  /** The fields of each entry, with kind `records`. */
  readonly entry?: Fields;
  /** The default. */
  readonly fallback?: T;
  /** A missing value is an error. */
  readonly required?: boolean;
  /** Set for secrets. The message for rejected credentials names this setting. */
  readonly isSecret?: true;
  /** Former names, which still work and produce a warning. */
  readonly renamedFrom?: readonly string[];
  /** Configuration only: the environment variable that the cloud's Go manager reads. */
  readonly env?: string;
  /** Configuration only, with kind `records`: the Go manager's environment variables that define an entry. */
  readonly entryVariables?: EntryVariables;
  /** Configuration only: the flag of the cloud's Go manager, without dashes. */
  readonly flag?: string;
  /** Configuration only: whether a reload applies a changed value, or only a restart does. */
  readonly reload?: "live" | "restart";
  /** A change of the value is rejected once the cloud object exists. If unset, a change updates the object. */
  readonly whenChanged?: "reject";
  /** Configuration only: a file may contain the value instead; see `ValueFile`. */
  readonly file?: ValueFile;
  /** Configuration only: a setting of the table that cannot be set together with this one. */
  readonly exclusiveWith?: string;
  /**
   * The setting is accepted because manifests for the cloud's Go manager contain it. It has no effect, and `text` explains why. A
   * warning reports that it is ignored.
   */
  readonly ineffective?: true;
  /**
   * Annotations only: this annotation has an effect only if each of the named annotations has one of the values or, without
   * values, is set.
   */
  readonly onlyWith?: Readonly<Record<string, readonly unknown[]>>;
  /** Annotations only: another annotation that takes precedence. */
  readonly overriddenBy?: string;
  /** Configuration only: the value is an HTTP URL, with this default if non-empty. Build it with `url`. */
  readonly urlLike?: string;
  /** Annotations only: the setting with which the operator sets the default; see `operatorDefaults`. */
  readonly defaultFrom?: string;
  /** Parses the text of the value. Pure. */
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

/** The parsed values of a table. A value is undefined only if its field has no default and is not required. */
export type Values<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** All fields with their names, including fields of list entries: `regions`, `regions[].name`. */
export function everyField(fields: Fields, prefix = ""): readonly (readonly [string, Field<unknown>])[] {
  return Object.entries<Field<unknown>>(fields).flatMap(([name, field]) => [
    [prefix + name, field] as const,
    ...everyField(field.entry ?? {}, `${prefix}${name}[].`),
  ]);
}

/** The name of the setting that contains a path: `regions` for `regions[0].name`. */
export const topLevelName = (path: string): string => path.split("[", 1)[0] ?? path;

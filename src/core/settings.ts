// How settings are declared: one table with type, text and fallback, from which reading, help text, the reference page
// and event messages all come. It declares only; reading is in `read-settings.ts`.

/** What may happen to a live cloud object when the value changes after it was created. */
export type WhenChanged = "update" | "reject" | "recreate";

/** How a value is written: what a command line adds up, which values need no word, what a file may hold. Absent: one text. */
export type FieldKind = "switch" | "number" | "duration" | "list" | "pairs" | "repeated";

/** One setting. `parse` is pure: what the user wrote in, the value or a complaint out. */
export interface Field<T> {
  /** One sentence for help and reference. */
  readonly text: string;
  /** Completes "must be …". */
  readonly expects: string;
  readonly kind?: FieldKind;
  readonly choices?: readonly string[];
  readonly fallback?: T;
  readonly required?: boolean;
  /** Former names: still read, reported as renamed. */
  readonly renamedFrom?: readonly string[];
  /** For configuration: the environment variable that the Go manager of that cloud reads. */
  readonly env?: string;
  /** For configuration: the flag that the Go manager of that cloud adds for it, without dashes. */
  readonly flag?: string;
  readonly whenChanged?: WhenChanged;
  parse(raw: string): { readonly value: T } | { readonly wrong: string };
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds fields of any type; Values<> brings the exact types back.
export type Fields = Readonly<Record<string, Field<any>>>;

type ValueOf<F> =
  F extends Field<infer T>
    ? F extends { readonly fallback: T } | { readonly required: true }
      ? T
      : T | undefined
    : never;

/** The values of a table, each with its exact type; undefined only where there is neither a fallback nor a demand. */
export type Values<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

// The builders of settings that hold one value. Each says what it expects, so that reading, help and the reference page
// speak alike; lists are in `list-fields.ts`.

import type { IpAddress, Milliseconds } from "./brand.ts";
import { parseDuration } from "./duration.ts";
import { parseIp } from "./ip.ts";
import { Secret } from "./secret.ts";
import type { Field, FieldKind, WhenChanged } from "./settings.ts";

export interface FieldOptions<T> {
  readonly fallback?: T;
  readonly required?: boolean;
  readonly renamedFrom?: readonly string[];
  readonly env?: string;
  readonly flag?: string;
  readonly whenChanged?: WhenChanged;
}

/** A field that remembers in its type whether there is always a value. */
export type Built<T, O> = Field<T> &
  (O extends { readonly fallback: T } ? { readonly fallback: T } : unknown) &
  (O extends { readonly required: true } ? { readonly required: true } : unknown);

type Parsed<T> = { readonly value: T } | { readonly wrong: string };

/** What came, for people; `wrong` completes "must be …, got …". */
export function quoted(raw: string): string {
  const short = raw.length > 80 ? `${raw.slice(0, 80)}…` : raw;
  return JSON.stringify(short);
}

export function buildField<T, const O extends FieldOptions<T>>(
  text: string,
  expects: string,
  parse: (raw: string) => Parsed<T>,
  options: O | undefined,
  { choices, kind }: { readonly choices?: readonly string[]; readonly kind?: FieldKind } = {},
): Built<T, O> {
  return {
    text,
    expects,
    parse,
    ...options,
    ...(choices !== undefined && { choices }),
    ...(kind !== undefined && { kind }),
    // The spread has what the conditional type promises; the compiler cannot follow it.
  } as Field<T> as Built<T, O>;
}

export function text<const O extends FieldOptions<string>>(what: string, options?: O): Built<string, O> {
  return buildField(
    what,
    "a text that is not empty",
    (raw) => {
      const value = raw.trim();
      return value === "" ? { wrong: "an empty one" } : { value };
    },
    options,
  );
}

const truths = new Map<string, boolean>([
  ...["1", "t", "T", "true", "TRUE", "True"].map((word) => [word, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((word) => [word, false] as const),
]);

/** The words are those of Go's ParseBool, which every Go manager reads flags with. */
export function flag<const O extends FieldOptions<boolean>>(what: string, options?: O): Built<boolean, O> {
  return buildField(
    what,
    "true or false",
    (raw) => {
      const value = truths.get(raw.trim());
      return value === undefined ? { wrong: quoted(raw) } : { value };
    },
    options,
    { kind: "switch" },
  );
}

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

function boundsText({ min, max }: Bounds, show: (bound: number) => string): string {
  if (min !== undefined && max !== undefined) return ` from ${show(min)} to ${show(max)}`;
  if (min !== undefined) return ` of at least ${show(min)}`;
  return max === undefined ? "" : ` of at most ${show(max)}`;
}

function isWithin(value: number, { min = -Infinity, max = Infinity }: Bounds): boolean {
  return value >= min && value <= max;
}

export function integer<const O extends FieldOptions<number>>(
  what: string,
  bounds: Bounds = {},
  options?: O,
): Built<number, O> {
  return buildField(
    what,
    `a whole number${boundsText(bounds, String)}`,
    (raw) => {
      const trimmed = raw.trim();
      const value = Number(trimmed);
      const isRight = /^[+-]?[0-9]+$/.test(trimmed) && Number.isSafeInteger(value) && isWithin(value, bounds);
      // "-0" is a zero.
      return isRight ? { value: value + 0 } : { wrong: quoted(raw) };
    },
    options,
    { kind: "number" },
  );
}

/** With a fraction or without. */
export function decimal<const O extends FieldOptions<number>>(
  what: string,
  bounds: Bounds = {},
  options?: O,
): Built<number, O> {
  return buildField(
    what,
    `a number${boundsText(bounds, String)}`,
    (raw) => {
      const trimmed = raw.trim();
      const isRight = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(trimmed) && isWithin(Number(trimmed), bounds);
      return isRight ? { value: Number(trimmed) + 0 } : { wrong: quoted(raw) };
    },
    options,
    { kind: "number" },
  );
}

export function oneOf<const C extends string, const O extends FieldOptions<NoInfer<C>>>(
  what: string,
  choices: readonly [C, ...C[]],
  options?: O,
): Built<C, O> {
  return buildField(
    what,
    `one of ${choices.join(", ")}`,
    (raw) => {
      const trimmed = raw.trim();
      const value = choices.find((choice) => choice === trimmed);
      return value === undefined ? { wrong: quoted(raw) } : { value };
    },
    options,
    { choices },
  );
}

/** Written as Go writes durations: `15s`, `1h30m`, `1.5s`, `300ms`. */
export function duration<const O extends FieldOptions<Milliseconds>>(
  what: string,
  bounds: { readonly min?: Milliseconds; readonly max?: Milliseconds } = {},
  options?: O,
): Built<Milliseconds, O> {
  return buildField(
    what,
    `a duration such as 15s or 1h30m${boundsText(bounds, (bound) => `${bound / 1000}s`)}`,
    (raw) => {
      const value = parseDuration(raw.trim());
      return value === undefined || !isWithin(value, bounds) ? { wrong: quoted(raw) } : { value };
    },
    options,
    { kind: "duration" },
  );
}

export function address<const O extends FieldOptions<IpAddress>>(
  what: string,
  options?: O,
): Built<IpAddress, O> {
  return buildField(
    what,
    "an IP address",
    (raw) => {
      const value = parseIp(raw.trim(), "sloppy");
      return value === undefined ? { wrong: quoted(raw) } : { value };
    },
    options,
  );
}

/** A value that is shown nowhere, not even when it is wrong. */
export function secret<const O extends FieldOptions<Secret>>(what: string, options?: O): Built<Secret, O> {
  return buildField(
    what,
    "a secret that is not empty",
    (raw) => {
      const value = raw.trim();
      return value === "" ? { wrong: "an empty one" } : { value: new Secret(value) };
    },
    options,
  );
}

// Builders of settings with a single value: text, numbers, durations, addresses, choices, secrets. Lists are in
// `list-fields.ts`.

import { type Cidr, type IpAddress, type Milliseconds, seconds } from "./brand.ts";
import { parseCidr } from "./cidr.ts";
import { parseDuration } from "./duration.ts";
import { parseIp } from "./ip.ts";
import { Secret } from "./secret.ts";
import type { Field, FieldContext, ParsedField, ValueFile } from "./settings.ts";

/** Options of every field builder. `Field` explains the members. */
export interface FieldOptions<T> {
  readonly fallback?: T;
  readonly required?: boolean;
  readonly renamedFrom?: readonly string[];
  readonly env?: string;
  readonly flag?: string;
  /**
   * Configuration only. `live`: a reload applies a changed value. If unset, the value needs a restart, because it may decide which
   * cloud objects belong to this cluster. Secrets are live, so that credentials can be rotated.
   */
  readonly reload?: "live" | "restart";
  readonly whenChanged?: "reject";
  readonly file?: ValueFile;
  readonly exclusiveWith?: string;
  readonly ineffective?: true;
  readonly onlyWith?: Readonly<Record<string, readonly unknown[]>>;
  readonly overriddenBy?: string;
  readonly defaultFrom?: string;
}

/** A field whose type shows whether it always has a value. */
export type Built<T, O> = Field<T> &
  (O extends { readonly fallback: T } ? { readonly fallback: T } : unknown) &
  (O extends { readonly required: true } ? { readonly required: true } : unknown) &
  (O extends { readonly file: ValueFile } ? { readonly file: ValueFile } : unknown) &
  (O extends { readonly defaultFrom: infer N } ? { readonly defaultFrom: N } : unknown);

/** A value for the message "must be …, got …", shortened. */
export function quoted(raw: string): string {
  const short = raw.length > 80 ? `${raw.slice(0, 80)}…` : raw;
  return JSON.stringify(short);
}

export function buildField<T, const O extends FieldOptions<T>>(
  text: string,
  expects: string,
  parse: (raw: string, context?: FieldContext) => ParsedField<T>,
  options: O | undefined,
  extra: Pick<Field<T>, "choices" | "entry" | "entryVariables" | "kind" | "isSecret" | "mayBeEmpty"> = {},
): Built<T, O> {
  return {
    text,
    expects,
    parse,
    ...options,
    ...extra,
    // The options determine the conditional type; the compiler cannot infer it through the spread.
  } as Field<T> as Built<T, O>;
}

/**
 * A non-empty string.
 *
 * @example
 * const config = { endpoint: text("The URL of the API.", { fallback: "https://api.example.com", env: "ACME_ENDPOINT" }) };
 */
export function text<const O extends FieldOptions<string>>(what: string, options?: O): Built<string, O> {
  return buildField(
    what,
    "a non-empty string",
    (raw) => {
      const value = raw.trim();
      return value === "" ? { wrong: "an empty string" } : { value };
    },
    options,
  );
}

const booleans = new Map<string, boolean>([
  ...["1", "t", "T", "true", "TRUE", "True"].map((word) => [word, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((word) => [word, false] as const),
]);

/** `true` or `false`, in any spelling of Go's ParseBool, which the Go managers use for flags. */
export function flag<const O extends FieldOptions<boolean>>(what: string, options?: O): Built<boolean, O> {
  return buildField(
    what,
    "true or false",
    (raw) => {
      const value = booleans.get(raw.trim());
      return value === undefined ? { wrong: quoted(raw) } : { value };
    },
    options,
    { kind: "switch" },
  );
}

/** The smallest and the largest allowed value. */
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

/** A whole number within bounds: `integer("Entries per page.", { min: 1, max: 500 }, { fallback: 50 })`. */
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
      const isValid = /^[+-]?[0-9]+$/.test(trimmed) && Number.isSafeInteger(value) && isWithin(value, bounds);
      // Turns -0 into 0.
      return isValid ? { value: value + 0 } : { wrong: quoted(raw) };
    },
    options,
    { kind: "number" },
  );
}

/** A number, with or without a fraction. */
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
      const isValid =
        /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(trimmed) &&
        isWithin(Number(trimmed), bounds);
      return isValid ? { value: Number(trimmed) + 0 } : { wrong: quoted(raw) };
    },
    options,
    { kind: "number" },
  );
}

/** An HTTP URL. The message about an invalid value shows `example` and hides the password. */
export function url<const O extends FieldOptions<string> & { readonly example?: string }>(
  what: string,
  options?: O,
): Built<string, O> {
  const { example = "", ...others }: FieldOptions<string> & { readonly example?: string } = options ?? {};
  return { ...text(what, others), urlLike: example } as Built<string, O>;
}

/** A string that may be empty, for an annotation whose empty value cancels the operator's default. */
export function textOrEmpty<const O extends FieldOptions<string>>(
  what: string,
  options?: O,
): Built<string, O> {
  const parse = (raw: string) => ({ value: raw.trim() });
  return buildField(what, "a string", parse, options, { mayBeEmpty: true });
}

/**
 * One of a fixed set of values. A typo never silently selects the default. With `anyCase`, case is ignored.
 *
 * @example
 * oneOf("How a target is picked.", ["round-robin", "least-connections"], { fallback: "round-robin" })
 */
export function oneOf<
  const C extends string,
  const O extends FieldOptions<NoInfer<C>> & { readonly anyCase?: true },
>(what: string, choices: readonly [C, ...C[]], options?: O): Built<C, O> {
  return buildField<C, O>(
    what,
    `one of ${choices.join(", ")}`,
    (raw) => {
      const trimmed = options?.anyCase === true ? raw.trim().toLowerCase() : raw.trim();
      const value = choices.find((choice) => choice === trimmed);
      return value === undefined ? { wrong: quoted(raw) } : { value };
    },
    options,
    { choices },
  );
}

/** A duration in Go's syntax: `15s`, `1h30m`, `1.5s`, `300ms`. With `orSeconds`, a plain number is accepted as seconds: `15`. */
export function duration<const O extends FieldOptions<Milliseconds> & { readonly orSeconds?: true }>(
  what: string,
  bounds: { readonly min?: Milliseconds; readonly max?: Milliseconds } = {},
  options?: O,
): Built<Milliseconds, O> {
  return buildField<Milliseconds, O>(
    what,
    `a duration such as 15s or 1h30m${boundsText(bounds, (bound) => `${bound / 1000}s`)}`,
    (raw) => {
      const trimmed = raw.trim();
      const isNumber = options?.orSeconds === true && /^\d+$/.test(trimmed);
      const value = isNumber ? seconds(Number(trimmed)) : parseDuration(trimmed);
      return value === undefined || !isWithin(value, bounds) ? { wrong: quoted(raw) } : { value };
    },
    options,
    { kind: "duration" },
  );
}

/** One IP address. As in Kubernetes, leading zeros are accepted. */
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

/** One CIDR. Unlike `cidrList`, rejects leading zeros, because the text is sent to the cloud. */
export function cidrBlock<const O extends FieldOptions<Cidr>>(what: string, options?: O): Built<Cidr, O> {
  return buildField(
    what,
    "a CIDR such as 10.0.0.0/24",
    (raw) => {
      const value = parseCidr(raw.trim());
      return value === undefined ? { wrong: quoted(raw) } : { value };
    },
    options,
  );
}

const defaultReload = { reload: "live" } as const;

/**
 * A value that never appears in a message, even if it is invalid. A secret is a credential of the same account, so a reload
 * applies it; with `reload: "restart"` it needs a restart.
 */
export function secret<const O extends FieldOptions<Secret>>(what: string, options?: O): Built<Secret, O> {
  return buildField(
    what,
    "a non-empty secret",
    (raw) => {
      const value = raw.trim();
      return value === "" ? { wrong: "an empty string" } : { value: new Secret(value) };
    },
    { ...defaultReload, ...options } as unknown as O,
    { isSecret: true },
  );
}

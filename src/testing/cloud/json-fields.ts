// Reads the JSON body of a request by its declared fields. The type of what was read comes from the declaration:
//
//   const thing = fields({ name: text(), size: integer(1, 100, 1), ports: listOf(integer(1, 65535)) });
//   type Thing = Read<typeof thing>;
//
// A field without a default is required. Fields that are not declared are refused, so that a typo has an effect.

import { Refused } from "./refused.ts";

/** Throws for an invalid value. `path` names it in messages. */
export type Field<T> = (value: unknown, path: string) => T;
/** The type of a field's value. */
export type Read<F> = F extends Field<infer T> ? T : never;

function invalid(path: string, expected: string): Refused {
  return new Refused(422, `${path} ${expected}`);
}

function value<T>(expected: string, isValid: (given: unknown) => boolean, fallback?: T): Field<T> {
  return (given, path) => {
    if (given === undefined || given === null) {
      if (fallback === undefined) throw invalid(path, "is required");
      return fallback;
    }
    if (!isValid(given)) throw invalid(path, expected);
    // The check decides the type; TypeScript cannot follow it through a generic.
    return given as T;
  };
}

/** A string. Without a fallback, it is required. */
export function text(fallback?: string): Field<string> {
  return value("must be a string", (given) => typeof given === "string", fallback);
}

/** True or false. Without a fallback, it is required. */
export function flag(fallback?: boolean): Field<boolean> {
  return value("must be a boolean", (given) => typeof given === "boolean", fallback);
}

/** A whole number within bounds. Without a fallback, it is required. */
export function integer(min: number, max: number, fallback?: number): Field<number> {
  const isValid = (given: unknown) =>
    Number.isSafeInteger(given) && Number(given) >= min && Number(given) <= max;
  return value(`must be an integer between ${min} and ${max}`, isValid, fallback);
}

/** One of these strings. Without a fallback, it is required. */
export function oneOf<const T extends string>(values: readonly T[], fallback?: T): Field<T> {
  const isValid = (given: unknown) => values.some((each) => each === given);
  return value(`must be one of ${values.join(", ")}`, isValid, fallback);
}

/** Any value, including none. */
export const anything: Field<unknown> = (given) => given;

/** A member that has no effect and is not read. */
export const ignored: Field<undefined> = () => undefined;

/** Undefined if the field is missing. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  return (given, path) => (given === undefined || given === null ? undefined : field(given, path));
}

/** Empty if the field is missing. */
export function listOf<T>(field: Field<T>): Field<readonly T[]> {
  return (given, path) => {
    if (given === undefined || given === null) return [];
    if (!Array.isArray(given)) throw invalid(path, "must be a list");
    return given.map((entry, index) => field(entry, `${path}[${index}]`));
  };
}

/** The object that fields describe. */
export type FieldsOf<F> = { readonly [N in keyof F]: Read<F[N]> };

/** An object. If missing, an object with the defaults of its fields. */
export function fields<F extends Readonly<Record<string, Field<unknown>>>>(declared: F): Field<FieldsOf<F>> {
  return (given, path) => {
    const object = given ?? {};
    if (typeof object !== "object" || Array.isArray(object)) throw invalid(path, "must be an object");
    const at = (name: string) => (path === "" ? name : `${path}.${name}`);
    const unknown = Object.keys(object).find((name) => !Object.hasOwn(declared, name));
    if (unknown !== undefined) throw invalid(at(unknown), "is not a field of the simulated API");
    const read = Object.entries(declared)
      .filter(([, field]) => field !== ignored)
      .map(([name, field]) => [name, field((object as Readonly<Record<string, unknown>>)[name], at(name))]);
    // Each entry comes from the field with its name.
    return Object.fromEntries(read) as FieldsOf<F>;
  };
}

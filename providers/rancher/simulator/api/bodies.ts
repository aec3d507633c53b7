// Reads the values of request bodies, and refuses names as the API does. Pure.

import { Refusal } from "../refusal.ts";

export type Json = Readonly<Record<string, unknown>>;

export const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textsOf = (value: unknown): readonly string[] => listOf(value).map(String);
export const textOrNull = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

const maxNameLength = 63;

/** The name of a new stack or service. */
export function nameOf({ name }: Json): string {
  if (name === undefined || name === null) throw new Refusal("MissingRequired", "Name is required", "name");
  if (typeof name !== "string" || !/^[a-zA-Z0-9-]*$/.test(name))
    throw new Refusal(
      "InvalidCharacters",
      "Name has characters other than letters, digits and dashes",
      "name",
    );
  if (name === "") throw new Refusal("MinLengthExceeded", "Name is empty", "name");
  if (name.length > maxNameLength)
    throw new Refusal("MaxLengthExceeded", `Name has more than ${maxNameLength} characters`, "name");
  if (name.startsWith("-") || name.endsWith("-"))
    throw new Refusal("InvalidFormat", "Name begins or ends with a dash", "name");
  return name;
}

/** Refuses a body without a field that the schema requires. */
export function checkRequired(body: Json, fields: readonly string[]): void {
  const missing = fields.find((name) => body[name] === undefined || body[name] === null);
  if (missing !== undefined) throw new Refusal("MissingRequired", `${missing} is required`, missing);
}

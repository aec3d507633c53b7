// Reads the JSON body of a request strictly. It collects every invalid field, and `done` rejects the request with all of
// them, as the API does.

import { Refusal } from "./answer.ts";
import { isValidLabel, type Labels } from "./listing.ts";

export interface InvalidField {
  readonly name: string;
  readonly messages: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export class BodyReader {
  readonly #body: Json;
  readonly #path: string;
  readonly #invalid: InvalidField[];

  constructor(body: unknown, path = "", invalid: InvalidField[] = []) {
    this.#body = isObject(body) ? body : {};
    this.#path = path;
    this.#invalid = invalid;
    if (!isObject(body)) this.#report("", "must be an object");
  }

  has(name: string): boolean {
    return this.#body[name] !== undefined && this.#body[name] !== null;
  }

  isNull(name: string): boolean {
    return this.#body[name] === null;
  }

  text(name: string): string | undefined {
    return this.#read(name, "must be a string", (value) => typeof value === "string");
  }

  needText(name: string): string {
    this.need(name);
    const text = this.text(name) ?? "";
    if (this.has(name) && text === "") this.reject(name, "must not be empty");
    return text;
  }

  /** The name or id of a type or location that the cloud offers, as text. The Go client sends ids as numbers. */
  needOffer(name: string): string {
    if (Number.isSafeInteger(this.#body[name])) return String(this.#body[name]);
    return this.needText(name);
  }

  flag(name: string): boolean | undefined {
    return this.#read(name, "must be a boolean", (value) => typeof value === "boolean");
  }

  integer(name: string, min = 1, max = Number.MAX_SAFE_INTEGER): number | undefined {
    return this.#read(
      name,
      `must be an integer between ${min} and ${max}`,
      (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    );
  }

  needInteger(name: string, min = 1, max = Number.MAX_SAFE_INTEGER): number {
    this.need(name);
    return this.integer(name, min, max) ?? min;
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    return this.#read(name, `must be one of ${values.join(", ")}`, (value) =>
      values.some((each) => each === value),
    );
  }

  labels(): Labels | undefined {
    return this.#read("labels", "must be valid labels", (value) =>
      Object.entries(isObject(value) ? value : { "": "" }).every(
        ([key, text]) => typeof text === "string" && isValidLabel(key, text),
      ),
    );
  }

  object(name: string): BodyReader | undefined {
    return this.has(name) ? new BodyReader(this.#body[name], this.#at(name), this.#invalid) : undefined;
  }

  needObject(name: string): BodyReader {
    return new BodyReader(this.#body[name] ?? undefined, this.#at(name), this.#invalid);
  }

  /** The entries of an object list. */
  objects(name: string): readonly BodyReader[] {
    const list = this.#read<readonly unknown[]>(name, "must be a list", Array.isArray) ?? [];
    return list.map((entry, index) => new BodyReader(entry, this.#at(`${name}.${index}`), this.#invalid));
  }

  texts(name: string): readonly string[] | undefined {
    return this.#read(
      name,
      "must be a list of strings",
      (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
    );
  }

  integers(name: string): readonly number[] | undefined {
    return this.#read(
      name,
      "must be a list of integers",
      (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
    );
  }

  need(name: string): void {
    if (!this.has(name)) this.reject(name, "is required");
  }

  reject(name: string, message: string): void {
    this.#report(this.#at(name), message);
  }

  /** Throws a Refusal when a field is invalid. */
  done(): void {
    if (this.#invalid.length === 0) return;
    const names = this.#invalid.map(({ name }) => `'${name}'`).join(", ");
    throw new Refusal("invalid_input", `invalid input in field ${names}`, { fields: this.#invalid });
  }

  #at(name: string): string {
    return this.#path === "" ? name : name === "" ? this.#path : `${this.#path}.${name}`;
  }

  #report(name: string, message: string): void {
    this.#invalid.push({ name, messages: [message] });
  }

  #read<T>(name: string, message: string, isValid: (value: unknown) => boolean): T | undefined {
    const value = this.#body[name];
    if (value === undefined || value === null) return undefined;
    // The check decides the type; TypeScript cannot derive it from a generic parameter.
    if (isValid(value)) return value as T;
    this.reject(name, message);
    return undefined;
  }
}

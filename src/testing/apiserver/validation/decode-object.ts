// Decodes what a client sent: checks kind and types, and drops, warns about or rejects unknown fields. The *-rules.ts files
// validate the values.

import { type ApiError, badRequest, invalid, invalidValue } from "../objects/api-error.ts";
import { isList, isObject, type Json, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf } from "../objects/object-fields.ts";
import { type Resource, versionOf } from "../objects/resource-table.ts";

type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface DecodeOptions {
  readonly fieldValidation?: FieldValidation;
  readonly warn?: (text: string) => void;
}

const quote = (path: string): string => `unknown field "${path}"`;

function reportUnknownFields(
  check: FieldCheck,
  options: DecodeOptions,
  refuse: (why: string) => ApiError,
): void {
  if (check.unknown.length === 0) return;
  const problems = check.unknown.sort().map(quote);
  if (options.fieldValidation === "Strict") throw refuse(`strict decoding error: ${problems.join(", ")}`);
  if (options.fieldValidation !== "Ignore") for (const problem of problems) options.warn?.(problem);
}

export function readJson(text: string, kind: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw Object.assign(
      badRequest(
        `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${cause instanceof Error ? cause.message : cause} (${text.slice(0, 100)})`,
      ),
      { cause },
    );
  }
  if (!isObject(value)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind}): expected a JSON object`);
  }
  return value;
}

/** Decodes a whole object, as POST and PUT send it. */
export function decodeObject(
  resource: Resource,
  given: JsonObject,
  before: JsonObject | undefined,
  options: DecodeOptions,
): JsonObject {
  const apiVersion = textAt(given, "apiVersion") || versionOf(resource.group);
  const kind = textAt(given, "kind") || resource.kind;
  if (kind !== resource.kind || apiVersion !== versionOf(resource.group)) {
    const version = apiVersion.split("/").at(-1) ?? "";
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${resource.kind}: converting (${version}.${kind}) to (core.${resource.kind}): unknown conversion`,
    );
  }
  const check = new FieldCheck();
  const refuse = (why: string): ApiError =>
    badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${why}`);
  let object: JsonObject;
  try {
    object = check.object(given, resource.kind, before);
  } catch (error) {
    if (error instanceof WrongTypeError) throw Object.assign(refuse(error.message), { cause: error });
    throw error;
  }
  reportUnknownFields(check, options, refuse);
  return { ...object, kind, apiVersion, metadata: objectAt(object, "metadata") };
}

/** Decodes the result of a patch. The server's error messages differ here. */
export function decodePatched(
  resource: Resource,
  patched: JsonObject,
  before: JsonObject,
  options: DecodeOptions,
): JsonObject {
  const check = new FieldCheck();
  const refuse = (why: string): ApiError =>
    invalid("", "", "", [invalidValue("patch", JSON.stringify(patched) as Json, why)]);
  let object: JsonObject;
  try {
    object = check.object(patched, resource.kind, before);
  } catch (error) {
    if (error instanceof WrongTypeError) throw Object.assign(refuse(error.message), { cause: error });
    throw error;
  }
  reportUnknownFields(check, options, refuse);
  return object;
}

// Checks values against the schema as the server decodes them: unknown fields are dropped and reported, wrong types
// rejected, empty values omitted. Parts that are identical (`===`) to the previous version were checked before and
// are skipped.

/** A value of the wrong type, with the Go decoder's message. */
class WrongTypeError extends Error {
  override readonly name = "WrongTypeError";
}

// Go omits these when they are zero. Most other scalars are pointers and are kept.
const omittedWhenZero = new Set([
  "NodeSpec.unschedulable",
  "ServiceSpec.publishNotReadyAddresses",
  "ServiceSpec.healthCheckNodePort",
  "ServicePort.nodePort",
  "Event.count",
  "ObjectMeta.generation",
]);
// In these types strings are pointers, so an empty string is kept: a released Lease has an empty holder.
const keepsEmptyText = new Set(["LeaseSpec", "Endpoint", "SlicePort"]);

const goTypes: Record<string, string> = { s: "string", i: "int32", n: "float64", b: "bool", t: "string" };

function jsonTypeOf(value: Json): string {
  if (isList(value)) return "array";
  if (isObject(value)) return "object";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function fits(value: Json, scalar: string): boolean {
  switch (scalar) {
    case "s":
    case "y":
    case "t":
      return typeof value === "string";
    case "i":
      return Number.isSafeInteger(value);
    case "n":
      return typeof value === "number";
    case "b":
      return typeof value === "boolean";
    case "q":
    case "x":
      return typeof value === "string" || typeof value === "number";
    default:
      return true;
  }
}

function isOmitted(owner: string, field: Field, value: Json): boolean {
  if (field.isRequired) return false;
  if (field.type.is === "list") return isList(value) && value.length === 0;
  if (field.type.is === "map") return isObject(value) && Object.keys(value).length === 0;
  if (value === "") return field.type.is === "scalar" && !keepsEmptyText.has(owner);
  return (value === false || value === 0) && omittedWhenZero.has(`${owner}.${field.name}`);
}

class FieldCheck {
  readonly unknown: string[] = [];

  /** The value as it is stored. `before` is the value at the same path in the previous version. */
  check(value: Json, type: FieldType, before: Json | undefined, path: string, owner: string): Json {
    if (value === before && typeof value === "object") return value;
    switch (type.is) {
      case "scalar":
        if (!fits(value, type.scalar)) {
          throw new WrongTypeError(
            `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field ${owner}.${path} of type ${goTypes[type.scalar] ?? "string"}`,
          );
        }
        return type.scalar === "t" && typeof value === "string" ? this.#time(value) : value;
      case "list":
        if (!isList(value)) return this.#refuse(value, owner, path, "[]");
        return value.map((item, index) =>
          this.check(item, type.item, isList(before) ? before[index] : undefined, `${path}[${index}]`, owner),
        );
      case "map": {
        if (!isObject(value)) return this.#refuse(value, owner, path, "map[string]");
        const map: Record<string, Json> = {};
        for (const key of Object.keys(value).sort()) {
          const item = value[key];
          if (item === undefined || item === null) continue;
          map[key] = this.check(
            item,
            type.item,
            isObject(before) ? before[key] : undefined,
            `${path}.${key}`,
            owner,
          );
        }
        return map;
      }
      case "type":
        if (!isObject(value)) return this.#refuse(value, owner, path, type.name);
        return this.object(value, type.name, isObject(before) ? before : undefined, path);
    }
  }

  object(value: JsonObject, type: string, before: JsonObject | undefined, path = ""): JsonObject {
    if (value === before) return value;
    const fields = fieldsOf(type);
    if (fields === undefined) return value;
    const result: Record<string, Json> = {};
    for (const key in value) {
      const item = value[key];
      const where = path === "" ? key : `${path}.${key}`;
      const field = fields.get(key);
      if (field === undefined) {
        this.unknown.push(where);
        continue;
      }
      if (item === undefined || item === null) continue;
      const checked = this.check(item, field.type, before?.[key], where, type);
      if (!isOmitted(type, field, checked)) result[key] = checked;
    }
    return result;
  }

  #refuse(value: Json, owner: string, path: string, expected: string): never {
    throw new WrongTypeError(
      `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field ${owner}.${path} of type ${expected}`,
    );
  }

  #time(value: string): string {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)) {
      throw new WrongTypeError(
        `parsing time ${JSON.stringify(JSON.stringify(value))} as "2006-01-02T15:04:05Z07:00": cannot parse`,
      );
    }
    return value;
  }
}

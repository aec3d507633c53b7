// Decodes what a client sent: checks kind and types, and drops, warns about or rejects unknown fields. The *-rules.ts files
// validate the values.

import { type ApiError, badRequest, invalid, invalidValue } from "../objects/api-error.ts";
import { isList, isObject, type Json, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf, type Scalar } from "../objects/object-fields.ts";
import { type Resource, versionOf } from "../objects/resource-table.ts";

type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface DecodeOptions {
  readonly fieldValidation?: FieldValidation;
  readonly warn?: (text: string) => void;
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
  const refuse = (why: string): ApiError =>
    badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${why}`);
  const object = checked(resource, given, before, options, refuse);
  return { ...object, kind, apiVersion, metadata: objectAt(object, "metadata") };
}

/** Decodes the result of a patch. The server's error messages differ here. */
export function decodePatched(
  resource: Resource,
  patched: JsonObject,
  before: JsonObject,
  options: DecodeOptions,
): JsonObject {
  return checked(resource, patched, before, options, (why) =>
    invalid("", "", "", [invalidValue("patch", JSON.stringify(patched), why)]),
  );
}

function checked(
  resource: Resource,
  given: JsonObject,
  before: JsonObject | undefined,
  { fieldValidation, warn }: DecodeOptions,
  refuse: (why: string) => ApiError,
): JsonObject {
  const check = new FieldCheck();
  try {
    const object = check.object(given, resource.kind, before);
    const problems = check.unknown.sort().map((path) => `unknown field "${path}"`);
    if (fieldValidation === "Strict" && problems.length > 0)
      throw new DecodeError(`strict decoding error: ${problems.join(", ")}`);
    if (fieldValidation !== "Ignore") for (const problem of problems) warn?.(problem);
    return object;
  } catch (error) {
    if (error instanceof DecodeError) throw Object.assign(refuse(error.message), { cause: error });
    throw error;
  }
}

// Checks values against the schema as the server decodes them: unknown fields are dropped and reported, wrong types
// rejected, empty values omitted. Parts that are identical (`===`) to the previous version were checked before and
// are skipped.

/** With the Go decoder's message. */
class DecodeError extends Error {}

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

/** The JSON types of each scalar, and its Go type in messages. */
const scalars: Readonly<Record<Scalar, { readonly json: readonly string[]; readonly go: string }>> = {
  s: { json: ["string"], go: "string" },
  y: { json: ["string"], go: "string" },
  t: { json: ["string"], go: "string" },
  i: { json: ["number"], go: "int32" },
  n: { json: ["number"], go: "float64" },
  b: { json: ["boolean"], go: "bool" },
  q: { json: ["string", "number"], go: "string" },
  x: { json: ["string", "number"], go: "string" },
  o: { json: ["string", "number", "boolean", "object"], go: "string" },
};

function fits(value: Json, scalar: Scalar): boolean {
  return scalars[scalar].json.includes(typeof value) && (scalar !== "i" || Number.isSafeInteger(value));
}

function jsonTypeOf(value: Json): string {
  if (isList(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function wrongType(value: Json, owner: string, path: string, expected: string): DecodeError {
  return new DecodeError(
    `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field ${owner}.${path} of type ${expected}`,
  );
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

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
        if (!fits(value, type.scalar)) throw wrongType(value, owner, path, scalars[type.scalar].go);
        if (type.scalar === "t" && !time.test(String(value))) {
          throw new DecodeError(
            `parsing time ${JSON.stringify(JSON.stringify(value))} as "2006-01-02T15:04:05Z07:00": cannot parse`,
          );
        }
        return value;
      case "list": {
        if (!isList(value)) throw wrongType(value, owner, path, "[]");
        const old = isList(before) ? before : [];
        return value.map((item, index) =>
          this.check(item, type.item, old[index], `${path}[${index}]`, owner),
        );
      }
      case "map": {
        if (!isObject(value)) throw wrongType(value, owner, path, "map[string]");
        const old = isObject(before) ? before : {};
        const map: Record<string, Json> = {};
        for (const key of Object.keys(value).sort()) {
          const item = value[key];
          if (item === undefined || item === null) continue;
          map[key] = this.check(item, type.item, old[key], `${path}.${key}`, owner);
        }
        return map;
      }
      case "type":
        if (!isObject(value)) throw wrongType(value, owner, path, type.name);
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
}

// Checks values against the schema as the server decodes them: unknown fields are dropped and reported, invalid types rejected,
// empty values omitted. Parts that are identical (`===`) to the previous version were checked before and are skipped.

import { isList, isObject, type Json, type JsonObject } from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf, type Scalar } from "../objects/object-fields.ts";

/** With the Go decoder's message. */
export class DecodeError extends Error {}

// Go omits these fields when they are zero. Most other scalars are pointers and are kept.
const omittedWhenZero = new Set([
  "NodeSpec.unschedulable",
  "ServiceSpec.publishNotReadyAddresses",
  "ServiceSpec.healthCheckNodePort",
  "ServicePort.nodePort",
  "Event.count",
  "ObjectMeta.generation",
]);
// Strings in these types are pointers, so an empty string is kept: a released Lease has an empty holder.
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

export class FieldCheck {
  readonly unknown: string[] = [];

  /** The value as stored. `before` is the value at the same path in the previous version. */
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

// Reads a value as the server decodes it: unknown fields are dropped and reported, wrong types refused, empty values left out.
// Parts that are the very same object as in the version before were checked then and are skipped.

import { isList, isObject, type Json, type JsonObject } from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf } from "../objects/schema.ts";

/** A value of the wrong type; the message is the decoder's. */
export class WrongTypeError extends Error {
  override readonly name = "WrongTypeError";
}

// Go leaves these out when they are zero; most other scalars are pointers and stay.
const omittedWhenZero = new Set([
  "NodeSpec.unschedulable",
  "ServiceSpec.publishNotReadyAddresses",
  "ServiceSpec.healthCheckNodePort",
  "ServicePort.nodePort",
  "Event.count",
  "ObjectMeta.generation",
]);
// In these, strings are pointers: an empty one says something (a released Lease has an empty holder).
const keepsEmptyText = new Set(["LeaseSpec", "Endpoint", "SlicePort", "PersistentVolumeClaimSpec"]);

const words: Record<string, string> = { s: "string", i: "int32", n: "float64", b: "bool", t: "string" };

function typeWord(value: Json): string {
  if (isList(value)) return "array";
  if (isObject(value)) return "object";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function fits(value: Json, scalar: string): boolean {
  switch (scalar) {
    case "s":
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

export class FieldCheck {
  readonly unknown: string[] = [];

  /** The value as it is stored. `before` is the same place in the version before, for sharing. */
  check(value: Json, type: FieldType, before: Json | undefined, path: string, owner: string): Json {
    if (value === before && typeof value === "object") return value;
    switch (type.is) {
      case "scalar":
        if (!fits(value, type.scalar)) {
          throw new WrongTypeError(
            `json: cannot unmarshal ${typeWord(value)} into Go struct field ${owner}.${path} of type ${words[type.scalar] ?? "string"}`,
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
      `json: cannot unmarshal ${typeWord(value)} into Go struct field ${owner}.${path} of type ${expected}`,
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

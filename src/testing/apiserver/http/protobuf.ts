// Decodes the objects that kubectl and the Go managers send as protobuf. Responses are always JSON, which these
// clients accept.

import { unsupportedMediaType } from "../objects/api-error.ts";
import type { Json, JsonObject } from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf } from "../objects/object-fields.ts";

/** The client must send JSON, because fields that are not decoded would be lost. */
const undecodable = (what: string) =>
  unsupportedMediaType(
    `The test API server does not decode ${what} from protobuf, so nothing is stored. Start the client with --kube-api-content-type=application/json.`,
  );

const decoder = new TextDecoder();
type Part = number | Uint8Array;

/** The fields of a message in order, as numbers and bytes. */
function readParts(bytes: Uint8Array): (readonly [number, Part])[] {
  const parts: (readonly [number, Part])[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("The message ends in the middle of a number.");
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === 0) parts.push([tag >>> 3, varint()]);
    else if (wire === 2) {
      const length = varint();
      if (at + length > bytes.length) throw new RangeError("The message ends in the middle of a field.");
      parts.push([tag >>> 3, bytes.subarray(at, at + length)]);
      at += length;
    } else throw new RangeError(`Unexpected wire type ${wire}.`);
  }
  return parts;
}

const textIn = (part: Part | undefined): string => (part instanceof Uint8Array ? decoder.decode(part) : "");
const numberIn = (part: Part | undefined): number => (typeof part === "number" ? part : 0);

/** An empty message is Go's zero time, which is null in JSON. */
function timeIn(parts: ReadonlyMap<number, Part>): Json {
  if (parts.size === 0) return null;
  const whole = new Date(numberIn(parts.get(1)) * 1000).toISOString().slice(0, 19);
  const micros = Math.trunc(numberIn(parts.get(2)) / 1000);
  return micros === 0 ? `${whole}Z` : `${whole}.${String(micros).padStart(6, "0")}Z`;
}

function readScalar(part: Part, scalar: string): Json {
  if (typeof part === "number") return scalar === "b" ? part !== 0 : part;
  if (scalar === "s") return decoder.decode(part);
  if (scalar === "y") return Buffer.from(part).toString("base64");
  const parts = new Map(readParts(part));
  if (scalar === "t") return timeIn(parts);
  const isText = scalar === "q" || parts.get(1) === 1;
  return isText ? textIn(parts.get(scalar === "q" ? 1 : 3)) : numberIn(parts.get(2));
}

/** Each part of a repeated field or map is one entry; `before` contains the earlier entries. */
function readField(part: Part, type: FieldType, before: Json | undefined): Json {
  switch (type.is) {
    case "scalar":
      return readScalar(part, type.scalar);
    case "list":
      return [...((before ?? []) as readonly Json[]), readField(part, type.item, undefined)];
    case "map": {
      const entry = new Map(typeof part === "number" ? [] : readParts(part));
      const value = readField(entry.get(2) ?? new Uint8Array(), type.item, undefined);
      return { ...(before as JsonObject | undefined), [textIn(entry.get(1))]: value };
    }
    case "type":
      return typeof part === "number" ? part : readMessage(part, type.name);
  }
}

function readMessage(bytes: Uint8Array, name: string): JsonObject {
  const fields = [...(fieldsOf(name)?.values() ?? [])];
  if (fields.every((field) => field.number === undefined)) throw undecodable(name);
  const byNumber = new Map(fields.map((field): [number | undefined, Field] => [field.number, field]));
  const result: Record<string, Json> = {};
  for (const [number, part] of readParts(bytes)) {
    const field = byNumber.get(number);
    if (field === undefined) throw undecodable(`field ${number} of ${name}`);
    result[field.name] = readField(part, field.type, result[field.name]);
  }
  return result;
}

const magic = [0x6b, 0x38, 0x73, 0x00];

/** The object in an envelope of `application/vnd.kubernetes.protobuf`; throws a RangeError if it is malformed. */
export function readProtobuf(bytes: Uint8Array): JsonObject {
  if (magic.some((byte, index) => bytes[index] !== byte)) {
    throw new RangeError("The body does not start with the Kubernetes protobuf prefix.");
  }
  const parts = new Map(readParts(bytes.subarray(magic.length)));
  const [types, raw] = [parts.get(1), parts.get(2)];
  const typeMeta = new Map(types instanceof Uint8Array ? readParts(types) : []);
  const [apiVersion, kind] = [textIn(typeMeta.get(1)), textIn(typeMeta.get(2))];
  return { apiVersion, kind, ...readMessage(raw instanceof Uint8Array ? raw : new Uint8Array(), kind) };
}

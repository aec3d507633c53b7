// Decodes the few objects that kubectl always sends as protobuf (`create …`, `auth can-i`). Responses are always
// JSON.

import type { Json, JsonObject } from "../objects/json.ts";

type FieldSpec = readonly [name: string, type: string];
type Message = Readonly<Record<number, FieldSpec>>;

// A type is s (text), i (integer), b (boolean), y (bytes), m (map of text), my (map of bytes), x (integer or text) or
// a message; [] marks a repeated field.
const objectMeta: Message = {
  1: ["name", "s"],
  2: ["generateName", "s"],
  3: ["namespace", "s"],
  5: ["uid", "s"],
  6: ["resourceVersion", "s"],
  11: ["labels", "m"],
  12: ["annotations", "m"],
  14: ["finalizers", "s[]"],
};
const meta: FieldSpec = ["metadata", "ObjectMeta"];

const messages: Readonly<Record<string, Message>> = {
  ObjectMeta: objectMeta,
  ConfigMap: { 1: meta, 2: ["data", "m"], 3: ["binaryData", "my"], 4: ["immutable", "b"] },
  Secret: { 1: meta, 2: ["data", "my"], 3: ["type", "s"], 4: ["stringData", "m"], 5: ["immutable", "b"] },
  Namespace: { 1: meta },
  ServiceAccount: { 1: meta },
  Service: { 1: meta, 2: ["spec", "ServiceSpec"] },
  ServiceSpec: {
    1: ["ports", "ServicePort[]"],
    2: ["selector", "m"],
    3: ["clusterIP", "s"],
    4: ["type", "s"],
    5: ["externalIPs", "s[]"],
    7: ["sessionAffinity", "s"],
    8: ["loadBalancerIP", "s"],
    9: ["loadBalancerSourceRanges", "s[]"],
    10: ["externalName", "s"],
    11: ["externalTrafficPolicy", "s"],
  },
  ServicePort: {
    1: ["name", "s"],
    2: ["protocol", "s"],
    3: ["port", "i"],
    4: ["targetPort", "x"],
    5: ["nodePort", "i"],
  },
  SelfSubjectAccessReview: { 1: meta, 2: ["spec", "AccessReviewSpec"] },
  AccessReviewSpec: {
    1: ["resourceAttributes", "ResourceAttributes"],
    2: ["nonResourceAttributes", "PathAttributes"],
  },
  ResourceAttributes: {
    1: ["namespace", "s"],
    2: ["verb", "s"],
    3: ["group", "s"],
    4: ["version", "s"],
    5: ["resource", "s"],
    6: ["subresource", "s"],
    7: ["name", "s"],
  },
  PathAttributes: { 1: ["path", "s"], 2: ["verb", "s"] },
  DeleteOptions: {
    2: ["preconditions", "Preconditions"],
    4: ["propagationPolicy", "s"],
    5: ["dryRun", "s[]"],
  },
  Preconditions: { 1: ["uid", "s"], 2: ["resourceVersion", "s"] },
  IntOrString: { 1: ["type", "i"], 2: ["intVal", "i"], 3: ["strVal", "s"] },
  TypeMeta: { 1: ["apiVersion", "s"], 2: ["kind", "s"] },
};

const decoder = new TextDecoder();
type Part = number | Uint8Array;

/** The fields of a message in their order, as numbers and bytes. */
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

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

function readEntry(bytes: Uint8Array, asText: (value: Uint8Array) => string): readonly [string, string] {
  const found = new Map(readParts(bytes));
  const [key, value] = [found.get(1), found.get(2)];
  return [
    key instanceof Uint8Array ? decoder.decode(key) : "",
    value instanceof Uint8Array ? asText(value) : "",
  ];
}

function readField(part: Part, type: string): Json {
  if (typeof part === "number") return type === "b" ? part !== 0 : part;
  switch (type) {
    case "s":
      return decoder.decode(part);
    case "x": {
      const { type: isText = 0, intVal = 0, strVal = "" } = readMessage(part, "IntOrString");
      return isText === 1 ? strVal : intVal;
    }
    default:
      return readMessage(part, type);
  }
}

function readMessage(bytes: Uint8Array, name: string): JsonObject {
  const message = messages[name];
  if (message === undefined) throw new RangeError(`The test API server cannot decode ${name} from protobuf.`);
  const result: Record<string, Json> = {};
  for (const [number, part] of readParts(bytes)) {
    const [field, type] = message[number] ?? [];
    if (field === undefined || type === undefined) continue;
    if ((type === "m" || type === "my") && typeof part !== "number") {
      const [key, value] = readEntry(part, type === "m" ? (each) => decoder.decode(each) : base64);
      result[field] = { ...(result[field] as JsonObject | undefined), [key]: value };
    } else if (type.endsWith("[]")) {
      const list = (result[field] ?? []) as readonly Json[];
      result[field] = [...list, readField(part, type.slice(0, -2))];
    } else {
      const value = readField(part, type);
      if (value !== "") result[field] = value;
    }
  }
  return result;
}

const magic = [0x6b, 0x38, 0x73, 0x00];

/** The object in an envelope of `application/vnd.kubernetes.protobuf`; throws a RangeError for anything else. */
export function readProtobuf(bytes: Uint8Array): JsonObject {
  if (magic.some((byte, index) => bytes[index] !== byte)) {
    throw new RangeError("The body does not start with the Kubernetes protobuf prefix.");
  }
  const parts = new Map(readParts(bytes.subarray(magic.length)));
  const [types, raw] = [parts.get(1), parts.get(2)];
  const { apiVersion = "", kind = "" } = types instanceof Uint8Array ? readMessage(types, "TypeMeta") : {};
  const object = raw instanceof Uint8Array ? readMessage(raw, String(kind)) : {};
  return { apiVersion, kind, ...object };
}

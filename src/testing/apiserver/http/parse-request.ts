// Parses a method and a URL into verb, resource, namespace, name, subresource and parameters.

import { messageOf } from "../../../core/error-message.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest, unsupportedMediaType } from "../objects/api-error.ts";
import type { Json, JsonObject } from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf } from "../objects/object-fields.ts";
import { findResource, type Resource } from "../objects/resource-table.ts";
import { isTrue } from "../storage/list-objects.ts";
import { readJson } from "../validation/decode-object.ts";

export interface RequestInfo {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  /** get, list, watch, create, update, patch, delete; the lower-case method for other paths. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Empty when the path is not below a group and version. */
  readonly plural: string;
  readonly resource: Resource | undefined;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

const writeVerbs: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

function verbFor(method: string, name: string, query: URLSearchParams): string {
  const reads = isTrue(query.get("watch")) ? "watch" : name === "" ? "list" : "get";
  return writeVerbs[method] ?? reads;
}

export function readRequest(request: TransportRequest): RequestInfo {
  const { method, url } = request;
  const { pathname: path, searchParams: query } = new URL(url, "http://test-api-server");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const [root, ...rest] = parts;
  const group = root === "apis" ? (rest.shift() ?? "") : "";
  const version = root === "api" || root === "apis" ? (rest.shift() ?? "") : "";
  const isInNamespace =
    rest[0] === "namespaces" && rest.length > 2 && rest[2] !== "status" && rest[2] !== "finalize";
  const namespace = isInNamespace ? (rest[1] ?? "") : "";
  const [plural = "", name = "", subresource = ""] = isInNamespace ? rest.slice(2) : rest;
  return {
    method,
    path,
    query,
    accept: headerOf(request, "accept") ?? "",
    verb: plural === "" ? method.toLowerCase() : verbFor(method, name, query),
    group,
    version,
    plural,
    resource: findResource(group, version, plural),
    namespace,
    name,
    subresource,
  };
}

// Reads request bodies: JSON, and the protobuf that kubectl sends. It does not validate them.

export function headerOf(request: TransportRequest, name: string): string | undefined {
  for (const [key, value] of Object.entries(request.headers ?? {})) {
    if (key.toLowerCase() === name) return value;
  }
  return undefined;
}

export function mediaTypeOf(request: TransportRequest): string {
  return (headerOf(request, "content-type") ?? "application/json").split(";")[0]?.trim() ?? "";
}

function textOf({ body }: TransportRequest): string {
  return body === undefined ? "" : typeof body === "string" ? body : new TextDecoder().decode(body);
}

const protobuf = "application/vnd.kubernetes.protobuf";

function readBinary({ body = "" }: TransportRequest): JsonObject {
  try {
    return readProtobuf(typeof body === "string" ? Buffer.from(body, "latin1") : body);
  } catch (cause) {
    if (cause instanceof RangeError) throw Object.assign(badRequest(cause.message), { cause });
    throw cause;
  }
}

export function readObject(request: TransportRequest, kind: string): JsonObject {
  const type = mediaTypeOf(request);
  if (type === protobuf) return readBinary(request);
  if (type !== "application/json") throw unsupportedMediaType();
  return readJson(textOf(request), kind);
}

/** The DeleteOptions in the body; empty when there is no body. */
export function readOptions(request: TransportRequest): JsonObject {
  if (request.body === undefined || request.body.length === 0) return {};
  if (mediaTypeOf(request) === protobuf) return readBinary(request);
  const text = textOf(request);
  return text === "" || mediaTypeOf(request) !== "application/json" ? {} : readJson(text, "DeleteOptions");
}

export function readPatch(request: TransportRequest): Json {
  const text = textOf(request);
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw Object.assign(badRequest(`error decoding patch: ${messageOf(cause)}`), { cause });
  }
}

// Decodes the objects that kubectl and the Go managers send as protobuf. Responses are always JSON, which these clients accept too.

/** The client must send JSON: what is not decoded would be lost. */
const undecodable = (what: string) =>
  unsupportedMediaType(
    `The test API server does not decode ${what} from protobuf, so nothing is stored. Start the client with --kube-api-content-type=application/json.`,
  );

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

const textIn = (part: Part | undefined): string => (part instanceof Uint8Array ? decoder.decode(part) : "");
const numberIn = (part: Part | undefined): number => (typeof part === "number" ? part : 0);

/** An empty message is the zero time of Go, which is null in JSON. */
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

/** A part of a repeated field or of a map is one entry; `before` has those that came earlier. */
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

/** The object in an envelope of `application/vnd.kubernetes.protobuf`; throws a RangeError where it is malformed. */
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

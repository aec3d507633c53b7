// Parses a method and a URL into verb, resource, namespace, name, subresource and parameters, and reads the body: JSON, or the
// protobuf that kubectl sends. It does not validate the body.

import { messageOf } from "../../../core/error-message.ts";
import type { TransportRequest } from "../../../platform/transport.ts";
import { badRequest, unsupportedMediaType } from "../objects/api-error.ts";
import type { Json, JsonObject } from "../objects/json.ts";
import { findResource, type Resource } from "../objects/resource-table.ts";
import { isTrue } from "../storage/list-objects.ts";
import { readJson } from "../validation/decode-object.ts";
import { readProtobuf } from "./protobuf.ts";

export interface RequestInfo {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  /** get, list, watch, create, update, patch, delete; the lower-case method for other paths. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Empty if the path is not below a group and version. */
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

/** The DeleteOptions in the body; empty if there is no body. */
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

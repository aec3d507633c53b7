// Applies a JSON patch (RFC 6902). Copies only the path that changes; a failed operation is an error.

import { badRequest, rejected } from "../objects/api-error.ts";
import { isList, isObject, isSame, type Json, type JsonObject, without } from "../objects/json.ts";

function readPointer(pointer: Json | undefined): readonly string[] {
  if (typeof pointer !== "string" || (pointer !== "" && !pointer.startsWith("/"))) throw rejected();
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function indexIn(key: string, end: number): number {
  if (!/^(0|[1-9]\d*)$/.test(key)) throw rejected();
  const index = Number(key);
  if (index >= end) throw rejected();
  return index;
}

function childOf(parent: Json | undefined, key: string): Json | undefined {
  if (isList(parent)) return parent[indexIn(key, parent.length)];
  if (!isObject(parent)) throw rejected();
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

const read = (document: Json, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>(childOf, document);

/** Adds, removes or replaces the value at the path. */
function edit(
  document: Json,
  [key, ...rest]: readonly string[],
  how: "add" | "remove" | "replace",
  value: Json = null,
): Json {
  if (key === undefined) {
    if (how === "remove") throw rejected();
    return value;
  }
  if (rest.length > 0) {
    const child = childOf(document, key);
    if (child === undefined) throw rejected();
    return edit(document, [key], "replace", edit(child, rest, how, value));
  }
  if (isList(document)) {
    if (how === "add" && key === "-") return [...document, value];
    const index = indexIn(key, document.length + (how === "add" ? 1 : 0));
    if (how === "replace") return document.with(index, value);
    return how === "add" ? document.toSpliced(index, 0, value) : document.toSpliced(index, 1);
  }
  if (!isObject(document) || (how !== "add" && document[key] === undefined)) throw rejected();
  return how === "remove" ? without(document, key) : { ...document, [key]: value };
}

function applyOne(document: Json, { op, path: pointer, from, value = null }: JsonObject): Json {
  const path = readPointer(pointer);
  switch (op) {
    case "add":
    case "remove":
    case "replace":
      return edit(document, path, op, value);
    case "test":
      // As in the server's library, a test for null succeeds when the path does not exist.
      if (!isSame(read(document, path) ?? null, value)) throw rejected();
      return document;
    case "copy":
      return edit(document, path, "add", read(document, readPointer(from)));
    case "move": {
      const source = readPointer(from);
      const moved = read(document, source);
      if (moved === undefined) throw rejected();
      return edit(edit(document, source, "remove"), path, "add", moved);
    }
    default:
      throw rejected();
  }
}

export function applyJsonPatch(document: JsonObject, patch: Json): JsonObject {
  if (!isList(patch)) {
    throw badRequest(
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    );
  }
  let current: Json = document;
  for (const operation of patch) {
    if (!isObject(operation)) throw rejected();
    current = applyOne(current, operation);
  }
  if (!isObject(current)) throw rejected();
  return current;
}

/**
 * Applies a JSON merge patch (RFC 7386): null removes, objects are merged, and everything else,
 * including lists, is replaced. Returns the same object if the patch changes nothing.
 */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  let result: Record<string, Json | undefined> | undefined;
  for (const key in patch) {
    const value = patch[key];
    if (value === undefined) continue;
    const before = target[key];
    const merged = isObject(value) ? applyMergePatch(isObject(before) ? before : {}, value) : value;
    if (value === null ? before === undefined : isSame(merged, before)) continue;
    result ??= { ...target };
    if (value === null) delete result[key];
    else result[key] = merged;
  }
  return result ?? target;
}

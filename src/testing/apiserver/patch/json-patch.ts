// Applies a JSON patch (RFC 6902). It copies only the path that changes; a failed operation is an error.

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
  return isObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function read(document: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = document;
  for (const key of path) {
    if (!isList(current) && !isObject(current)) throw rejected();
    current = childOf(current, key);
  }
  return current;
}

/** Replaces the container at the path by what `change` returns. */
function edit(document: Json, path: readonly string[], change: (parent: Json, key: string) => Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) throw rejected();
  if (rest.length === 0) return change(document, key);
  const child = childOf(document, key);
  if (child === undefined) throw rejected();
  const changed = edit(child, rest, change);
  if (isList(document)) return document.with(indexIn(key, document.length), changed);
  return { ...(document as JsonObject), [key]: changed };
}

function add(document: Json, path: readonly string[], value: Json): Json {
  return path.length === 0
    ? value
    : edit(document, path, (parent, key) => {
        if (isList(parent)) {
          const at = key === "-" ? parent.length : indexIn(key, parent.length + 1);
          return parent.toSpliced(at, 0, value);
        }
        if (!isObject(parent)) throw rejected();
        return { ...parent, [key]: value };
      });
}

function remove(document: Json, path: readonly string[]): Json {
  return edit(document, path, (parent, key) => {
    if (isList(parent)) return parent.toSpliced(indexIn(key, parent.length), 1);
    if (!isObject(parent) || parent[key] === undefined) throw rejected();
    return without(parent, key);
  });
}

function replace(document: Json, path: readonly string[], value: Json): Json {
  return path.length === 0
    ? value
    : edit(document, path, (parent, key) => {
        if (isList(parent)) return parent.with(indexIn(key, parent.length), value);
        if (!isObject(parent) || parent[key] === undefined) throw rejected();
        return { ...parent, [key]: value };
      });
}

function applyOne(document: Json, operation: JsonObject): Json {
  const path = readPointer(operation["path"]);
  const value = operation["value"];
  switch (operation["op"]) {
    case "add":
      return add(document, path, value ?? null);
    case "remove":
      return remove(document, path);
    case "replace":
      return replace(document, path, value ?? null);
    case "test":
      // As in the server's library, a test for null succeeds when the path does not exist.
      if (!isSame(read(document, path) ?? null, value ?? null)) throw rejected();
      return document;
    case "copy":
      return add(document, path, read(document, readPointer(operation["from"])) ?? null);
    case "move": {
      const from = readPointer(operation["from"]);
      const moved = read(document, from);
      if (moved === undefined) throw rejected();
      return add(remove(document, from), path, moved);
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

// Applies a JSON merge patch (RFC 7386): null removes, objects merge, everything else, lists too, is replaced.

function mergeValue(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  return applyMergePatch(isObject(target) ? target : {}, patch);
}

/** The same object when the patch changes nothing. */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  let result: Record<string, Json | undefined> | undefined;
  for (const key in patch) {
    const value = patch[key];
    if (value === undefined) continue;
    const before = target[key];
    if (value === null) {
      if (before === undefined) continue;
      result ??= { ...target };
      delete result[key];
      continue;
    }
    const merged = mergeValue(before, value);
    if (before !== undefined && (merged === before || isSame(merged, before))) continue;
    result ??= { ...target };
    result[key] = merged;
  }
  return result ?? target;
}

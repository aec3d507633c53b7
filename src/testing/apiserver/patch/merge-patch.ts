// Applies a JSON merge patch (RFC 7386): null removes, objects merge, everything else, lists too, is replaced.

import { isObject, isSame, type Json, type JsonObject } from "../objects/json.ts";

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

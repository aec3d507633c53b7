// A simplified server-side apply: only appliers own fields. Conflicts arise between appliers, fields that an applier omits are
// removed, and values set by plain updates are taken over without a conflict.

import { ApiError } from "../objects/api-error.ts";
import {
  isList,
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
  without,
} from "../objects/json.ts";
import { type Field, type FieldType, fieldsOf } from "../objects/schema.ts";

interface Applied {
  readonly manager: string;
  readonly apiVersion: string;
  readonly time: string;
  readonly isForced: boolean;
}

const unowned = new Set(["apiVersion", "kind"]);
const unownedMeta = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "managedFields",
  "creationTimestamp",
  "generation",
]);

function keyText(item: Json, keys: readonly string[]): string {
  return keys.length === 0
    ? `v:${JSON.stringify(item)}`
    : `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, objectAt(item)[key] ?? (key === "protocol" ? "TCP" : null)])))}`;
}

function typeOf(type: FieldType | undefined): string | undefined {
  return type?.is === "type" ? type.name : undefined;
}
function itemOf(field: Field): string | undefined {
  return field.type.is === "list" ? typeOf(field.type.item) : undefined;
}

/** The fields that a configuration sets, in the format of `fieldsV1`. */
function fieldSet(config: JsonObject, type: string | undefined): JsonObject {
  const fields = type === undefined ? undefined : fieldsOf(type);
  const set: Record<string, Json> = {};
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined || value === null) continue;
    if (type === "ObjectMeta" ? unownedMeta.has(key) : unowned.has(key)) continue;
    const field = fields?.get(key);
    if (isList(value) && field?.listKeys !== undefined) {
      const { listKeys } = field;
      const items = value.map((item) => [
        keyText(item, listKeys),
        isObject(item) ? { ".": {}, ...fieldSet(item, itemOf(field)) } : {},
      ]);
      set[`f:${key}`] = Object.fromEntries(items) as JsonObject;
    } else if (isObject(value) && (field?.type.is === "map" || field?.type.is === "type")) {
      set[`f:${key}`] = fieldSet(value, typeOf(field.type));
    } else {
      set[`f:${key}`] = {};
    }
  }
  return set;
}

function childField(key: string, type: string | undefined): Field | undefined {
  return type === undefined ? undefined : fieldsOf(type)?.get(key);
}

/** The live object merged with the values of the configuration. */
function overlay(live: JsonObject, config: JsonObject, type: string | undefined): JsonObject {
  const result: Record<string, Json | undefined> = { ...live };
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined || value === null) continue;
    const field = childField(key, type);
    const current = result[key];
    if (isList(value) && field?.listKeys !== undefined) {
      const { listKeys } = field;
      const merged = [...(isList(current) ? current : [])];
      for (const item of value) {
        const at = merged.findIndex((other) => keyText(other, listKeys) === keyText(item, listKeys));
        const before = merged[at];
        if (at < 0) merged.push(item);
        else merged[at] = isObject(item) && isObject(before) ? overlay(before, item, itemOf(field)) : item;
      }
      result[key] = merged;
    } else if (isObject(value) && isObject(current)) {
      result[key] = overlay(current, value, typeOf(field?.type));
    } else result[key] = value;
  }
  return result;
}

/** Removes the fields in `owned` that no set in `kept` contains. */
function prune(
  live: JsonObject,
  owned: JsonObject,
  kept: readonly JsonObject[],
  type: string | undefined,
): JsonObject {
  let result = live;
  for (const entry of Object.keys(owned)) {
    if (!entry.startsWith("f:")) continue;
    const key = entry.slice(2);
    const field = childField(key, type);
    const deeper = kept.map((set) => set[entry]).filter(isObject);
    const value = result[key];
    if (value === undefined) continue;
    const inner = objectAt(owned, entry);
    if (deeper.length === 0) {
      result = without(result, key);
    } else if (isList(value) && field?.listKeys !== undefined) {
      const { listKeys } = field;
      const items = value.flatMap((item): Json[] => {
        const name = keyText(item, listKeys);
        if (inner[name] === undefined) return [item];
        const rest = deeper.map((set) => set[name]).filter(isObject);
        if (rest.length === 0) return [];
        return isObject(item) ? [prune(item, objectAt(inner, name), rest, itemOf(field))] : [item];
      });
      result = { ...result, [key]: items };
    } else if (isObject(value) && Object.keys(inner).length > 0) {
      result = { ...result, [key]: prune(value, inner, deeper, typeOf(field?.type)) };
    }
  }
  return result;
}

function conflictsIn(
  live: JsonObject,
  config: JsonObject,
  owned: JsonObject,
  type: string | undefined,
  path: string,
): string[] {
  return Object.entries(config).flatMap(([key, value]): string[] => {
    const ownedField = owned[`f:${key}`];
    const current = live[key];
    if (value === undefined || value === null || !isObject(ownedField)) return [];
    const field = childField(key, type);
    if (isList(value) && isList(current) && field?.listKeys !== undefined) {
      const { listKeys } = field;
      return value.flatMap((item) => {
        const name = keyText(item, listKeys);
        const liveItem = current.find((other) => keyText(other, listKeys) === name);
        if (!isObject(item) || !isObject(liveItem)) return [];
        return conflictsIn(
          liveItem,
          item,
          objectAt(ownedField, name),
          itemOf(field),
          `${path}.${key}[${name.slice(2)}]`,
        );
      });
    }
    if (isObject(value) && isObject(current))
      return conflictsIn(current, value, ownedField, typeOf(field?.type), `${path}.${key}`);
    return isSame(value, current) ? [] : [`${path}.${key}`];
  });
}

export function applyConfiguration(
  live: JsonObject,
  config: JsonObject,
  type: string,
  applied: Applied,
): JsonObject {
  const entries = listAt(live, "metadata", "managedFields").filter(isObject);
  const isOwn = (entry: JsonObject) =>
    textAt(entry, "manager") === applied.manager && entry["operation"] === "Apply";
  const own = entries.find(isOwn);
  const others = entries.filter((entry) => !isOwn(entry));
  const conflicts = others.flatMap((entry) =>
    conflictsIn(live, config, objectAt(entry, "fieldsV1"), type, "").map((field) => ({
      field,
      manager: textAt(entry, "manager"),
    })),
  );
  if (conflicts.length > 0 && !applied.isForced) {
    const causes = conflicts.map(({ field, manager }) => ({
      reason: "FieldManagerConflict",
      message: `conflict with "${manager}" using ${applied.apiVersion}`,
      field,
    }));
    const [first] = causes;
    const text =
      causes.length === 1
        ? `1 conflict: ${first?.message}: ${first?.field}`
        : `${causes.length} conflicts: ${causes.map((cause) => `${cause.message}: ${cause.field}`).join(", ")}`;
    throw new ApiError(409, "Conflict", `Apply failed with ${text}`, { causes });
  }
  const set = fieldSet(config, type);
  const kept = [set, ...others.map((entry) => objectAt(entry, "fieldsV1"))];
  const merged = prune(overlay(live, config, type), objectAt(own, "fieldsV1"), kept, type);
  const isUnchanged = own !== undefined && isSame(objectAt(own, "fieldsV1"), set);
  const entry: JsonObject = isUnchanged
    ? own
    : {
        manager: applied.manager,
        operation: "Apply",
        apiVersion: applied.apiVersion,
        time: applied.time,
        fieldsType: "FieldsV1",
        fieldsV1: set,
      };
  return { ...merged, metadata: { ...objectAt(merged, "metadata"), managedFields: [...others, entry] } };
}

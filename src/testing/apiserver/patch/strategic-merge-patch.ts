// Applies a strategic merge patch: lists merge by the keys in the schema, with the `$patch`, `$setElementOrder`,
// `$deleteFromPrimitiveList` and `$retainKeys` directives.

import { badRequest } from "../objects/api-error.ts";
import { isList, isObject, isSame, type Json, type JsonObject, without } from "../objects/json.ts";
import { type Field, type Fields, type FieldType, fieldsOf } from "../objects/object-fields.ts";

const orderPrefix = "$setElementOrder/";
const deletePrefix = "$deleteFromPrimitiveList/";

/** The type of an object, or of the objects in a list or map. */
function typeNameOf(type: FieldType | undefined): string | undefined {
  if (type === undefined || type.is === "scalar") return undefined;
  return type.is === "type" ? type.name : typeNameOf(type.item);
}

const isDirective = (key: string): boolean => key.startsWith("$");

/** The value that a patch sets if there is nothing to merge it into. */
function stripDirectives(value: Json): Json {
  if (isList(value)) {
    return value.filter((item) => !(isObject(item) && item["$patch"] !== undefined)).map(stripDirectives);
  }
  if (!isObject(value)) return value;
  const result: Record<string, Json> = {};
  for (const key in value) {
    const item = value[key];
    if (isDirective(key) || item === undefined || item === null) continue;
    result[key] = stripDirectives(item);
  }
  return result;
}

function keyOf(item: Json, mergeKey: string): Json | undefined {
  return mergeKey === "" ? item : isObject(item) ? item[mergeKey] : undefined;
}

/** Sorts the items in `order`; other items keep their place relative to their neighbors in the live list. */
function reorder(items: readonly Json[], live: readonly Json[], order: readonly Json[], mergeKey: string) {
  const id = (item: Json) => JSON.stringify(keyOf(item, mergeKey));
  const rank = new Map(order.map((item, index) => [id(item), index]));
  const liveRank = new Map(live.map((item, index) => [id(item), index]));
  const named = items
    .filter((item) => rank.has(id(item)))
    .sort((a, b) => (rank.get(id(a)) ?? 0) - (rank.get(id(b)) ?? 0));
  const others = items.filter((item) => !rank.has(id(item)));
  const result: Json[] = [];
  for (const item of named) {
    const rankInLive = liveRank.get(id(item));
    for (let next = others[0]; next !== undefined; next = others[0]) {
      if (rankInLive === undefined || (liveRank.get(id(next)) ?? Number.POSITIVE_INFINITY) > rankInLive)
        break;
      result.push(next);
      others.shift();
    }
    result.push(item);
  }
  return [...result, ...others];
}

function mergeList(live: readonly Json[], patch: readonly Json[], field: Field): readonly Json[] {
  const mergeKey = field.mergeKey;
  if (mergeKey === undefined) return stripDirectives(patch) as readonly Json[];
  if (mergeKey === "") {
    return [...live, ...patch.filter((item) => !live.some((other) => isSame(other, item)))];
  }
  if (patch.some((item) => isObject(item) && item["$patch"] === "replace")) {
    return stripDirectives(patch) as readonly Json[];
  }
  const itemType = typeNameOf(field.type);
  let result = [...live];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest("expected an object in a list that merges by key");
    const key = item[mergeKey];
    if (key === undefined)
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`);
    const isWanted = (other: Json): boolean => isSame(keyOf(other, mergeKey), key);
    if (item["$patch"] === "delete") {
      result = result.filter((other) => !isWanted(other));
      continue;
    }
    const at = result.findIndex(isWanted);
    const found = result[at];
    if (isObject(found)) result[at] = applyStrategicMergePatch(found, item, itemType);
    else result.push(stripDirectives(item));
  }
  return result;
}

/** The result of a patch on an object; the type determines how its lists are merged. */
export function applyStrategicMergePatch(
  live: JsonObject,
  patch: JsonObject,
  type: string | undefined,
): JsonObject {
  if (patch["$patch"] === "replace") return stripDirectives(without(patch, "$patch")) as JsonObject;
  if (patch["$patch"] === "delete") return {};
  const fields: Fields | undefined = type === undefined ? undefined : fieldsOf(type);
  const result: Record<string, Json | undefined> = { ...live };
  const retain = patch["$retainKeys"];
  if (isList(retain)) for (const key of Object.keys(result)) if (!retain.includes(key)) delete result[key];
  for (const key in patch) {
    const value = patch[key];
    if (value === undefined) continue;
    if (key.startsWith(deletePrefix)) {
      const name = key.slice(deletePrefix.length);
      const current = result[name];
      if (isList(current) && isList(value)) {
        result[name] = current.filter((item) => !value.some((gone) => isSame(gone, item)));
      }
      continue;
    }
    if (isDirective(key)) continue;
    if (value === null) {
      delete result[key];
      continue;
    }
    const current = result[key];
    const field = fields?.get(key);
    if (isList(value) && field !== undefined) {
      result[key] = mergeList(isList(current) ? current : [], value, field);
    } else if (isObject(value)) {
      result[key] = isObject(current)
        ? applyStrategicMergePatch(current, value, typeNameOf(field?.type))
        : stripDirectives(value);
    } else {
      result[key] = value;
    }
    const merged = result[key];
    if (merged !== current && isSame(merged, current)) result[key] = current;
  }
  for (const key in patch) {
    if (!key.startsWith(orderPrefix)) continue;
    const name = key.slice(orderPrefix.length);
    const order = patch[key];
    const current = result[name];
    const mergeKey = fields?.get(name)?.mergeKey;
    if (mergeKey === undefined || !isList(order) || !isList(current)) continue;
    result[name] = reorder(current, isList(live[name]) ? live[name] : [], order, mergeKey);
  }
  return result;
}

// Read-only JSON values: access by path, comparison by content, and changes that share unchanged parts.

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json | undefined };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);

export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let current = value;
  for (const key of path) {
    if (!isObject(current)) return undefined;
    current = current[key];
  }
  return current;
}

export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = valueAt(value, ...path);
  return isObject(found) ? found : {};
}

export function listAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = valueAt(value, ...path);
  return isList(found) ? found : [];
}

/** The text at the path, or the empty string. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The entry of a list that has this type, such as the Ready condition. */
export function entryOfType(list: readonly Json[], type: string): Json | undefined {
  return list.find((each) => textAt(each, "type") === type);
}

export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isList(a)) {
    return isList(b) && a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  let size = 0;
  for (const key in a) {
    if (a[key] === undefined) continue;
    size++;
    if (!isSame(a[key], b[key])) return false;
  }
  for (const key in b) if (b[key] !== undefined) size--;
  return size === 0;
}

/** A copy without the key; the same object if the key is missing. */
export function without(object: JsonObject, key: string): JsonObject {
  if (!(key in object)) return object;
  const { [key]: _, ...rest } = object;
  return rest;
}

/** A copy with one value changed, sharing everything else; `undefined` removes the value. */
export function withValue<T extends JsonObject>(
  object: T,
  path: readonly string[],
  value: Json | undefined,
): T {
  const [key, ...rest] = path;
  if (key === undefined) return object;
  if (rest.length === 0) {
    return (value === undefined ? without(object, key) : { ...object, [key]: value }) as T;
  }
  const child = object[key];
  if (value === undefined && !isObject(child)) return object;
  return { ...object, [key]: withValue(isObject(child) ? child : {}, rest, value) };
}

/** Freezes deeply. Stops at values that are already frozen, so a patched object costs only its new parts. */
export function freeze<T extends Json | undefined>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) freeze((value as JsonObject)[key]);
  return value;
}

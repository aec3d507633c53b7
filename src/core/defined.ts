// Builds objects with optional properties from values that may be undefined, for `exactOptionalPropertyTypes`. Pure.

export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * Returns the object without its undefined properties: use `defined({ name, uid })` instead of a conditional spread for
 * each property.
 */
export function defined<T extends object>(object: T): Defined<T> {
  // A loop instead of array methods, because this runs several times per request.
  const result: Record<string, unknown> = {};
  for (const key in object) if (object[key] !== undefined) result[key] = object[key];
  return result as Defined<T>;
}

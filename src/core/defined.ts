// Builds objects with optional properties from values that may be undefined, for `exactOptionalPropertyTypes`. Pure.

export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without its undefined properties: `defined({ name, uid })` instead of a conditional spread per property. */
export function defined<T extends object>(object: T): Defined<T> {
  // A loop, because this runs several times for each request.
  const result: Record<string, unknown> = {};
  for (const key in object) if (object[key] !== undefined) result[key] = object[key];
  return result as Defined<T>;
}

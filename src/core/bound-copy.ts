// Copies an object whose members are to be replaced one by one. A spread would lose the methods of an instance of a class.

/** A copy whose functions work without their object. Getters become their current values. */
export function boundCopy<T extends object>(object: T): T {
  const copy: Record<PropertyKey, unknown> = {};
  for (
    let from: object | null = object;
    from !== null && from !== Object.prototype;
    from = Object.getPrototypeOf(from)
  ) {
    for (const key of Reflect.ownKeys(from)) {
      if (key === "constructor" || Object.hasOwn(copy, key)) continue;
      const value: unknown = Reflect.get(object, key);
      copy[key] = typeof value === "function" ? value.bind(object) : value;
    }
  }
  return copy as T;
}

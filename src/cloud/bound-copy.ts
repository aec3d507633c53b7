// Copies one part of a cloud so that its members can be replaced. A spread would lose the methods of a class instance.

type AnyFunction = (...args: readonly unknown[]) => unknown;

/** Binds each function to its object and passes it through `change`. Getters become their current values. */
export function boundCopy<T extends object>(
  object: T,
  change: (member: AnyFunction, name: string) => AnyFunction = (member) => member,
): T {
  const copy: Record<PropertyKey, unknown> = {};
  for (
    let from: object | null = object;
    from !== null && from !== Object.prototype;
    from = Object.getPrototypeOf(from)
  ) {
    for (const key of Reflect.ownKeys(from)) {
      if (key === "constructor" || Object.hasOwn(copy, key)) continue;
      const value: unknown = Reflect.get(object, key);
      copy[key] = typeof value === "function" ? change(value.bind(object), String(key)) : value;
    }
  }
  return copy as T;
}

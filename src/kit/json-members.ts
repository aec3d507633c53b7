// Compares what a plan wants with what an API returns, and prepares it to be sent back. Pure.

/** An object of an API. */
export type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;

/**
 * Whether the observed value has all that is wanted. Further members of objects count as equal, because only what is wanted is managed.
 * Lists are equal in any order, and what is absent or null is equal to false.
 *
 * @example
 * if (!hasAll(balancer, { algorithm: "round-robin", rules })) steps.push({ do: "change balancer", body });
 */
export function hasAll(observed: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    const list: readonly unknown[] = Array.isArray(observed) ? observed : [];
    // Sets, because lists of targets are long.
    const [has, wants] = [new Set(list), new Set(wanted)];
    if (!wanted.some(isObject)) return has.size === wants.size && wanted.every((one) => has.has(one));
    return list.length === wanted.length && wanted.every((one) => list.some((other) => hasAll(other, one)));
  }
  if (!isObject(wanted)) return observed === wanted || (wanted === false && isNothing(observed));
  const members = isObject(observed) ? observed : {};
  return Object.entries(wanted).every(([name, value]) => value === undefined || hasAll(members[name], value));
}

/** These members of an object, without those that are null or absent, at any depth: many APIs return null and do not accept it. */
export function membersOf(value: object, names: readonly string[]): Members {
  const members = value as Members;
  return Object.fromEntries(
    names.flatMap((name) => (isNothing(members[name]) ? [] : [[name, pruned(members[name])]])),
  );
}

const isNothing = (value: unknown): boolean => value === null || value === undefined;

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned);
  return isObject(value) ? membersOf(value, Object.keys(value)) : value;
}

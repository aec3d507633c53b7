// Compares an observed object with the desired object, and reads its annotations and its owner. Pure.

import type { ServiceUID } from "../core/brand.ts";
import type { Fields, Values } from "../core/settings.ts";

/** An object of an API. */
export type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;

/**
 * Whether the observed value contains everything that is wanted. Additional members of objects are ignored, because only
 * desired members are managed. Lists are equal in any order, and what is absent or null is equal to false.
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

/** The given members of an object, without null and absent members at any depth: many APIs return null but do not accept it. */
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

/**
 * An existing object's value for each field, for `LoadBalancers.settingsOf`. `observed` returns the value as an annotation
 * would contain it: undefined or null if the object does not show it. Values that a field does not accept are omitted.
 *
 * @example
 * settingsOf: ({ balancer }) => observedValues(annotations, (name) => balancer[memberOf(name)]),
 */
export function observedValues<F extends Fields>(
  fields: F,
  observed: (name: string) => unknown,
): Partial<Values<F>> {
  const entries = Object.entries(fields).flatMap(([name, field]) => {
    const value = observed(name);
    const parsed = value === undefined || value === null ? undefined : field.parse(String(value));
    return parsed !== undefined && "value" in parsed ? [[name, parsed.value]] : [];
  });
  return Object.fromEntries(entries) as Partial<Values<F>>;
}

/**
 * The Services whose `DesiredLoadBalancer.defaultName` is this name; none for any other name. The Go managers truncate the last
 * digit of the uid, so every digit is possible.
 *
 * @example
 * const owners = ownersOfDefaultName(balancer.name);
 */
export function ownersOfDefaultName(name: string): readonly ServiceUID[] {
  const [, a, b, c, d, e] =
    /^a([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{11})$/.exec(name) ?? [];
  if (a === undefined) return [];
  return [..."0123456789abcdef"].map((digit) => `${a}-${b}-${c}-${d}-${e}${digit}` as ServiceUID);
}

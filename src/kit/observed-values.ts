// Reads the annotations that an existing load balancer amounts to. Pure.

import type { Fields, Values } from "../core/settings.ts";

/**
 * What an existing object has for each field, for `LoadBalancers.settingsOf`. `observed` returns it as the annotation would say it:
 * undefined or null if the object does not show it. What a field does not accept is left out.
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

// Reads the owner of a load balancer from the name that the Go managers give it, for clouds where the name is the mark. Pure.

import type { ServiceUID } from "../core/brand.ts";

/**
 * The Services whose `DesiredLoadBalancer.defaultName` is this name; none for any other name. The Go managers cut the last digit of
 * the uid from it, so each digit is possible.
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

// Whether a route leads to a node, told by whatever the cloud knows of its target: machine, name, address. Pure, and
// three-valued, because what is not known must not make anybody take a route away.

import type { Cidr } from "../../../core/brand.ts";
import type { ObservedRoute, RouteTarget } from "../../../provider/routes.ts";

export type Match = "same" | "different" | "unknown";

/** The machine counts before the name: a cloud may call a machine otherwise than its Node is called. */
export function matchTarget(target: RouteTarget, route: ObservedRoute): Match {
  const { targetKey, targetName, targetAddress } = route;
  if (route.leadsNowhere === true) return "different";
  const found: Match[] = [];
  if (targetKey !== undefined) {
    found.push(target.machine === undefined ? "unknown" : equal(targetKey, target.machine.key));
  } else if (targetName !== undefined) {
    found.push(equal(targetName, target.node));
  }
  if (targetAddress !== undefined) {
    const { addresses } = target;
    found.push(addresses.length === 0 ? "unknown" : equal(addresses.includes(targetAddress), true));
  }
  if (found.length === 0 || found.includes("different")) return "different";
  return found.includes("same") ? "same" : "unknown";
}

const equal = <T>(one: T, other: T): Match => (one === other ? "same" : "different");

/** Nodes whose routes are left as they are, by all that a route may say of its target. */
export interface Spared {
  readonly destinations: ReadonlySet<Cidr>;
  readonly keys: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly addresses: ReadonlySet<string>;
}

export function isSpared(spared: Spared, route: ObservedRoute): boolean {
  return (
    spared.destinations.has(route.destination) ||
    (route.targetKey !== undefined && spared.keys.has(route.targetKey)) ||
    (route.targetName !== undefined && spared.names.has(route.targetName)) ||
    (route.targetAddress !== undefined && spared.addresses.has(route.targetAddress))
  );
}

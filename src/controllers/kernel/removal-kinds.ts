// The kinds of removals that the limits remember, and how long: Nodes, load balancers, routes and
// volumes that were removed or recreated because an object was absent.

import { type Milliseconds, minutes } from "../../core/brand.ts";

export const removalKinds = ["nodes", "load-balancers", "routes", "volumes"] as const;
export type RemovalKind = (typeof removalKinds)[number];

/** Every mass limit counts the removals within this window. */
export const removalWindow: Milliseconds = minutes(10);
export const removalWindowText = `${removalWindow / 60_000} minutes`;

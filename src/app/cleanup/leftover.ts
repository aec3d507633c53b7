// One object that a cluster left in the cloud, and why it stays if it does. Data.

import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { ObservedRoute } from "../../provider/routes.ts";

/** Why an object stays. `unselected`: a flag would select it. */
export interface Kept {
  readonly kind: "in use" | "unselected";
  readonly why: string;
}

interface Common {
  /** Identifies it from one listing to the next: only what was listed and confirmed is deleted. */
  readonly key: string;
  readonly name: string;
  /** The region or route table, if the cloud has several. */
  readonly place: string | undefined;
  readonly owners: readonly string[];
  readonly addresses: readonly string[];
  readonly kept: Kept | undefined;
}

export interface LeftoverBalancer extends Common {
  readonly what: "load balancer";
  readonly balancer: ObservedLoadBalancer;
}

export interface LeftoverRoute extends Common {
  readonly what: "route";
  readonly route: ObservedRoute;
}

export type Leftover = LeftoverBalancer | LeftoverRoute;

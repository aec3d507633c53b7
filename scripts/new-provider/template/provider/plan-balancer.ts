// Plans the steps from the observed to the desired load balancer. Pure.

import type { DesiredLoadBalancer, ObservedLoadBalancer, Plan, Step } from "#ccm";
import type { ApiBalancer } from "./api.ts";
import type { annotations } from "./settings.ts";
import { unwritten } from "./unwritten.ts";

export type Desired = DesiredLoadBalancer<typeof annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiBalancer;
}

/** A union of the steps, each with the data that `apply` needs. */
export type BalancerStep = Step;

/** The tags that mark a load balancer as this cluster's. */
export type Tags = Readonly<Record<string, string>>;

export function planBalancer(
  _desired: Desired | undefined,
  _observed: Observed | undefined,
  _tags: Tags,
): Plan<BalancerStep> {
  return unwritten("plan-balancer.ts", "5. Load balancers: the plan");
}

// Which steps lead from the balancer that is there to the one that a Service wishes. Pure: it asks nothing and waits for
// nothing.

import type { DesiredLoadBalancer, ObservedLoadBalancer, Plan, Step } from "#ccm";
import type { ApiBalancer } from "./api.ts";
import type { annotations } from "./settings.ts";
import { unwritten } from "./unwritten.ts";

export type Desired = DesiredLoadBalancer<typeof annotations>;

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiBalancer;
}

/** A union of the orders that the cloud takes, each with what `apply` needs. */
export type BalancerStep = Step;

/** What marks a balancer as ours. */
export type Tags = Readonly<Record<string, string>>;

export function planBalancer(
  _desired: Desired | undefined,
  _observed: Observed | undefined,
  _tags: Tags,
): Plan<BalancerStep> {
  return unwritten("plan-balancer.ts", "5. Load balancers: the plan");
}

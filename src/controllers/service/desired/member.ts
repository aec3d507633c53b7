// A Service with its desired load balancer, and what prevents a plan for it. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";

export interface Member {
  readonly service: Service;
  /** The desired load balancer without the targets in `gone`. */
  readonly desired: Desired;
  /**
   * Targets whose machines the cloud does not show. A load balancer keeps such targets, because the cloud may be
   * hiding the machines, but does not get new ones.
   */
  readonly gone: readonly BalancerTarget[];
  /** After an error, its settings keep their observed values. No load balancer is created until errors are fixed. */
  readonly problems: readonly Problem[];
  /** True while the endpoints are unknown: nothing can be planned. Their arrival enqueues the Service. */
  readonly isAwaited: boolean;
  /** When the targets change without an event, in milliseconds since 1970. */
  readonly changeAt?: number;
  /** True if targets or settings are invalid and their current values are unknown. The load balancer then stays unchanged. */
  readonly isBlocked: boolean;
  /** The rules that chose the targets. Unset if the Service no longer needs a load balancer. */
  readonly rules?: TargetRules;
  /** True if the Service no longer needs a load balancer, but on-delete is invalid. The load balancer then stays. */
  readonly isOnHold: boolean;
}

export function hasErrors({ problems }: Pick<Member, "problems">): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** No load balancer is created while there are errors. Deletions and existing load balancers are not affected. */
export function isRejected(
  { desired, problems }: Pick<Member, "desired" | "problems">,
  observed: ObservedLoadBalancer | undefined,
): boolean {
  return (
    desired.ending === undefined &&
    hasErrors({ problems }) &&
    observed?.owners.includes(desired.owner.uid) !== true
  );
}

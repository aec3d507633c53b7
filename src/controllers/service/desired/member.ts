// A Service with its desired load balancer, and what prevents that it is planned. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";

export interface Member {
  readonly service: Service;
  /** Without the targets that are `gone`. */
  readonly desired: Desired;
  /** Targets whose machines the cloud does not show. The load balancer keeps them, because the cloud may hide them, and gets none of them. */
  readonly gone: readonly BalancerTarget[];
  /** Errors freeze the settings that they concern. No load balancer is created until they are fixed. */
  readonly problems: readonly Problem[];
  /** Its endpoints are not known yet: nothing can be planned. Their arrival enqueues the Service. */
  readonly isAwaited: boolean;
  /** When its targets change because time passes, in milliseconds since 1970. */
  readonly changeAt?: number;
  /** Targets or settings are invalid and their current values are unknown: what exists stays unchanged. */
  readonly isBlocked: boolean;
  /** Which rules chose its targets. A Service that no longer needs a load balancer has none. */
  readonly rules?: TargetRules;
  /** It no longer needs a load balancer, but on-delete is invalid, so the load balancer stays. */
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

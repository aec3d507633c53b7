// A Service as a member of its group: what it wishes for, what is wrong with it, and what keeps it from being planned with.

import type { Problem } from "../../../core/problem.ts";
import type { Fields } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { DesiredLoadBalancer, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";

export type Desired = DesiredLoadBalancer<Fields>;

export interface Member {
  readonly service: Service;
  readonly desired: Desired;
  /** Errors among them freeze what they govern; a creation waits for them to be mended. */
  readonly problems: readonly Problem[];
  /** Which nodes have endpoints is not known yet; whoever learns it calls. */
  readonly isAwaited: boolean;
  /** When its targets change by themselves: milliseconds since 1970. */
  readonly changeAt?: number;
  /** Nobody knows which targets or settings are meant, and the cloud does not show them: what exists stays as it is. */
  readonly isBlocked: boolean;
  /** Immutable settings for whose sake the balancer has to be made again. */
  readonly recreate: readonly string[];
  /** It ends, and nobody knows whether what it has is to be deleted or given back: that stays. */
  readonly isHeld: boolean;
}

export function isWrong({ problems }: Pick<Member, "problems">): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** A creation waits until every annotation is right; teardown and what exists go on. */
export function isRefused(
  { desired, problems }: Pick<Member, "desired" | "problems">,
  observed: ObservedLoadBalancer | undefined,
): boolean {
  return (
    desired.ending === undefined &&
    isWrong({ problems }) &&
    observed?.owners.includes(desired.owner.uid) !== true
  );
}

// The Services of a group as its members, and which of them are planned. The group may not be planned at all while on-delete is
// invalid, while settings are unknown, or while a Service outside the group still uses the load balancer. Pure.

import type { ServiceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { TargetRules } from "../annotations/target-rules.ts";
import type { Desired } from "../deps.ts";

export interface Member {
  readonly service: Service;
  readonly desired: Desired;
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
  /** Changed settings that require the load balancer to be recreated. */
  readonly recreate: readonly string[];
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

export interface GroupMembers {
  readonly all: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Owners that have left, but may still have a load balancer in the cloud. */
  readonly pendingReleases: readonly ServiceUID[];
  /** The owner is gone, and its on-delete was invalid. */
  readonly isOnHold: (gone: ServiceUID) => boolean;
  /** The owner vanished from the API and may come back, or too many vanished together. */
  readonly isUndecided: (gone: ServiceUID) => boolean;
  /** Whether an existing Service, other than these that are gone, uses the observed load balancer. */
  readonly isStillUsed: (gone: readonly ServiceUID[]) => boolean;
}

export type Selection =
  | {
      readonly kind: "plan";
      readonly members: readonly Member[];
      /** Owners that are gone. Their parts may be removed. */
      readonly gone: readonly ServiceUID[];
    }
  /** The load balancer must not change, but its status is still written for these. */
  | { readonly kind: "status only"; readonly members: readonly Member[] }
  /** It is not decided yet whether its Services are gone: the load balancer stays for now. */
  | { readonly kind: "undecided" }
  /**
   * Its Services are gone, and it is not to be deleted, or it also serves an owner that this process never saw: the load balancer
   * stays and is reported as an orphan.
   */
  | { readonly kind: "orphan"; readonly pendingReleases: readonly ServiceUID[] }
  | { readonly kind: "nothing" };

export function selectMembers(group: GroupMembers): Selection {
  const { all, observed, pendingReleases } = group;
  const known = new Set([...pendingReleases, ...all.map(({ desired }) => desired.owner.uid)]);
  const members = all.filter((member) => !member.isOnHold && !isRejected(member, observed));
  const decided = pendingReleases.filter((uid) => !group.isUndecided(uid));
  const gone = decided.filter((uid) => !group.isOnHold(uid));
  if (all.length === 0 && decided.length < pendingReleases.length) return { kind: "undecided" };
  if (all.length > 0 && members.length === 0 && gone.length === 0) return { kind: "nothing" };
  if (members.length === 0 && group.isStillUsed(gone)) return { kind: "nothing" };
  if (all.length === 0 && gone.length < pendingReleases.length) return { kind: "orphan", pendingReleases };
  // Without members, everything is removed, but the other owners may still exist.
  const hasUnknownOwner = observed?.owners.some((uid) => !known.has(uid)) === true;
  if (members.length === 0 && gone.length > 0 && hasUnknownOwner)
    return { kind: "orphan", pendingReleases: gone };
  if (members.some(({ isBlocked }) => isBlocked)) {
    return { kind: "status only", members: members.filter(({ desired }) => desired.ending === undefined) };
  }
  return { kind: "plan", members, gone };
}

// The Services of a group as its members, and which of them are planned. The group may not be planned at all while on-delete is
// invalid, while settings are unknown, or while a Service outside the group still uses the load balancer. What on-delete means for a
// load balancer that is no longer needed is decided here, too; the provider plans the steps. Pure.

import type { ServiceUID } from "../../../core/brand.ts";
import { didYouMean } from "../../../core/did-you-mean.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { ownPrefix } from "../../well-known.ts";
import type { OwnSettings } from "../annotations/annotations.ts";
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

const onDeleteAnnotation = `${ownPrefix}on-delete`;

export type OnDelete =
  | { readonly kind: "delete" | "release" }
  /** Nothing is removed: a deleted load balancer can no longer be released. */
  | { readonly kind: "on hold"; readonly why: string };

/** Only a typo that cannot mean `release` is read as `delete`. */
function meansDelete(text: string): boolean {
  return didYouMean(text, ["delete"]) !== undefined && didYouMean(text, ["release"]) === undefined;
}

export function readOnDelete(
  { metadata }: Service,
  { values, frozen }: OwnSettings,
  { canRelease }: { readonly canRelease: boolean },
): OnDelete {
  if (frozen.has("on-delete")) {
    const text = metadata.annotations?.[onDeleteAnnotation] ?? "";
    if (meansDelete(text.trim())) return { kind: "delete" };
    const got = JSON.stringify(text.slice(0, 80));
    return { kind: "on hold", why: `${onDeleteAnnotation} must be "delete" or "release", got ${got}` };
  }
  if (values["on-delete"] === "delete") return { kind: "delete" };
  if (canRelease) return { kind: "release" };
  return {
    kind: "on hold",
    why: `${onDeleteAnnotation} is "release", but this cloud cannot release load balancers`,
  };
}

/** What to remember in case the Service disappears without waiting for its finalizer. */
export function onDeleteToRemember({ kind }: OnDelete, desired: Desired): Desired | "on hold" | undefined {
  if (kind === "delete") return undefined;
  return kind === "on hold" ? kind : { ...desired, targets: [], ending: "release" };
}

/** Reported on a Service whose load balancer should be removed. */
export function deletionOnHold(why: string): Problem {
  return {
    severity: "error",
    reason: "DeletionHeld",
    key: onDeleteAnnotation,
    text: `Deletion is on hold: ${why}. The load balancer stays until this is corrected. Correct the annotation, or remove it to delete the load balancer.`,
  };
}

/** Reported while the Service still has its load balancer. */
export const releaseUnsupported: Problem = {
  severity: "warning",
  reason: "ReleaseUnsupported",
  key: onDeleteAnnotation,
  text: `This cloud cannot release load balancers. When the Service is deleted, its load balancer and the Service stay until ${onDeleteAnnotation} is "delete" or removed.`,
};

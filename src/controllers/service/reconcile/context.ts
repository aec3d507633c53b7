// The types that the stages of a reconcile share: the context, with the group and the parts of the controller, and the plan. Also the lock
// on the owners of load balancers.

import { proofsApart } from "../../../cloud/reads-lag.ts";
import type { Milliseconds, ServiceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Plan, Step } from "../../../provider/plan.ts";
import type { Operations } from "../../operations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { Difference } from "../desired/difference.ts";
import type { Member } from "../desired/members.ts";
import type { SharedPrefetch } from "../desired/shared-prefetch.ts";
import { removalKind } from "../observed/balancer-mass-count.ts";
import type { Reading } from "../observed/fresh-listing.ts";
import type { StandbyChanges } from "../queue/relevant-change.ts";
import type { TriggerDeps } from "../queue/triggers.ts";
import type { AppliedPlan, Fingerprint, Hold } from "../state/group-parts.ts";
import type { GroupState } from "../state/group-state.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";

export interface ReconcileContext extends ReconcileDeps {
  readonly group: string;
  /** The Services of the group, as they were when the reconcile began. */
  readonly services: readonly Service[];
  readonly state: GroupState;
  readonly call: Call;
}

export interface ReconcileDeps extends TriggerDeps {
  readonly standbyChanges: StandbyChanges;
  readonly prefetch: SharedPrefetch;
  readonly operations: Operations;
  readonly ownerLock: OwnerLock;
  readonly reporter: ServiceReporter;
}

export interface PlanInput extends Pick<AppliedPlan, "observed" | "duplicates"> {
  readonly members: readonly Member[];
  /** Owners that are gone. */
  readonly gone: readonly ServiceUID[];
  /** What the latest listing had for the group, if that was one load balancer. */
  readonly listed: ObservedLoadBalancer | undefined;
  /** The parts that the plan may rely on. */
  readonly read: Reading;
}

export interface PlannedGroup extends PlanInput, AppliedPlan {
  readonly kind: "planned";
  /** Drift that is reported and not repaired. */
  readonly withheld: readonly Step[];
  /** There are no steps, but the cloud is still working. */
  readonly wait: Plan<Step>["wait"];
  readonly fingerprint: Fingerprint;
  /** Changes of targets are withheld, so the group does not converge. */
  readonly areTargetsHeld: boolean;
  readonly difference: Difference;
  /** The steps change nothing but targets. */
  readonly areOnlyTargets: boolean;
  /** A Service had the load balancer, and Fairlead has not removed it. */
  readonly isLost: boolean;
}

/** The current Services of a group. */
export function servicesOf(
  { controller, groupStates }: Pick<ReconcileDeps, "controller" | "groupStates">,
  group: string,
): readonly Service[] {
  return groupStates.membersOf(group).flatMap((key) => controller.services.get(key) ?? []);
}

/** Puts the group on hold for this reason until an operator releases it, or a later reconcile ends the hold. */
export function holdReleasably(
  { controller: { removals }, groupStates, state }: ReconcileContext,
  { reason, message }: Pick<Hold, "reason" | "message">,
  names: readonly string[] = groupStates.membersOf(state.group),
): void {
  state.setHold({ reason, message, isReleasable: true });
  removals.hold(removalKind, state.group, names.join(", "));
}

interface Lock {
  readonly owners: Set<string>;
  /** Groups to enqueue when the lock is released. */
  readonly waiting: Set<string>;
}

export class OwnerLock {
  /** By group, only while it is reconciled. */
  readonly #locks = new Map<string, Lock>();

  /**
   * Returns false when another group holds one of the owners. May be called again for more owners. If the first call returned
   * true, `release` must follow.
   */
  acquire(group: string, owners: Iterable<string>): boolean {
    const wanted = [...owners];
    for (const [holder, lock] of this.#locks) {
      if (holder === group || !wanted.some((owner) => lock.owners.has(owner))) continue;
      lock.waiting.add(group);
      return false;
    }
    const lock = this.#locks.get(group) ?? { owners: new Set(), waiting: new Set() };
    for (const owner of wanted) lock.owners.add(owner);
    this.#locks.set(group, lock);
    return true;
  }

  /** Returns the groups that waited for this one. */
  release(group: string): readonly string[] {
    const waiting = [...(this.#locks.get(group)?.waiting ?? [])];
    this.#locks.delete(group);
    return waiting;
  }
}

/** The time between two proofs that a load balancer is absent. */
export function confirmAfterOf({
  balancers,
  settings: { confirmAfter },
}: Pick<ServiceControllerDeps, "balancers" | "settings">): Milliseconds {
  return proofsApart(confirmAfter, balancers);
}

// What the stages of a reconcile share: the group being reconciled, the parts of the controller that they use, and the lock on the
// owners of its load balancer.

import { proofsApart } from "../../../cloud/reads-lag.ts";
import type { Milliseconds } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { Operations } from "../../operations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import type { SharedPrefetch } from "../desired/shared-prefetch.ts";
import { type BalancerMassLimit, removalKind } from "../observed/balancer-mass-count.ts";
import type { EvidenceUpdates } from "../observed/evidence-updates.ts";
import type { FreshListing } from "../observed/fresh-listing.ts";
import type { StandbyChanges } from "../queue/relevant-change.ts";
import type { NodeSyncLatency } from "../queue/triggers.ts";
import type { GroupState, Hold } from "../state/group-state.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ServiceStates } from "../state/service-states.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";

export interface ReconcileContext {
  readonly group: string;
  /** The Services of the group, as they were when the reconcile began. */
  readonly services: readonly Service[];
  readonly state: GroupState;
  readonly call: Call;
}

export interface ReconcileDeps {
  readonly controller: ServiceControllerDeps;
  readonly groupStates: GroupStates;
  readonly serviceStates: ServiceStates;
  readonly desiredServices: DesiredServices;
  readonly freshListing: FreshListing;
  readonly evidenceUpdates: EvidenceUpdates;
  readonly standbyChanges: StandbyChanges;
  readonly massLimit: BalancerMassLimit;
  readonly prefetch: SharedPrefetch;
  readonly operations: Operations;
  readonly ownerLock: OwnerLock;
  readonly nodeSyncLatency: NodeSyncLatency;
  readonly reporter: ServiceReporter;
  /** Puts a group into the queue. */
  readonly enqueue: (group: string) => void;
}

/** The current Services of a group. */
export function servicesOf(
  { controller, groupStates }: Pick<ReconcileDeps, "controller" | "groupStates">,
  group: string,
): readonly Service[] {
  return groupStates.membersOf(group).flatMap((key) => controller.services.get(key) ?? []);
}

/** Nothing is created or removed for this reason, and an operator can release that. */
export function holdReleasably(
  { controller: { removals }, groupStates }: Pick<ReconcileDeps, "controller" | "groupStates">,
  state: GroupState,
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

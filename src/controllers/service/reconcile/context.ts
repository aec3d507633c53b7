// What the stages of a reconcile share: the group being reconciled, and the parts of the controller that they use.

import type { Service } from "../../../kube/objects.ts";
import type { Call } from "../../../provider/call.ts";
import type { Operations } from "../../operations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { BalancerInputs } from "../desired/balancer-inputs.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import type { EvidenceUpdates } from "../observed/evidence-updates.ts";
import type { FreshListing } from "../observed/fresh-listing.ts";
import type { BalancerMassLimit } from "../observed/mass-limit.ts";
import type { SharedPrefetch } from "../observed/shared-prefetch.ts";
import type { StandbyChanges } from "../queue/standby-changes.ts";
import type { GroupState } from "../state/group-record.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { OwnerLock } from "../state/owner-lock.ts";
import type { ServiceStates } from "../state/service-states.ts";
import type { NodeSyncLatency } from "../status/node-sync-latency.ts";
import type { EventPublisher } from "../status/publisher.ts";

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
  readonly inputs: BalancerInputs;
  readonly operations: Operations;
  readonly ownerLock: OwnerLock;
  readonly nodeSyncLatency: NodeSyncLatency;
  readonly publisher: EventPublisher;
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

// Decides whether the deletion of a Service was seen. A Service that only vanished may come back, and counts against the mass
// limit.

import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { isBeingDeleted, wantsLoadBalancer } from "../predicates.ts";
import type { ServiceStates } from "../state/service-states.ts";

/** A Service with a finalizer cannot disappear without an update before. One without any is deleted by a single watch event. */
export function isDeletionSeen(
  before: Service,
  { isFromList }: Pick<Change<Service>, "isFromList">,
): boolean {
  const isDeletable = (before.metadata.finalizers ?? []).length === 0 && isFromList !== true;
  return isBeingDeleted(before) || !wantsLoadBalancer(before) || isDeletable;
}

/** Records seen deletions for the life of the process: a standby replica sees what the leader will not see again. */
export function followDeletions(
  { services }: Pick<ServiceControllerDeps, "services">,
  serviceStates: Pick<ServiceStates, "get" | "commit">,
): void {
  services.subscribe((change) => {
    const { before, after } = change;
    if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
    const state = serviceStates.get(serviceUID(before.metadata.uid));
    if (state === undefined) return;
    serviceStates.commit(state, { kind: "vanished", isDeletionSeen: isDeletionSeen(before, change) });
  });
}

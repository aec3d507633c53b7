// After each listing, compares the marks in the cloud with the groups of the Services, and enqueues the release of leftovers: load
// balancers of Services that have moved to another group, or that no longer need one.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { WorkQueue } from "../../../runtime/work-queue.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { markedBalancers } from "../observed/ownership.ts";
import { isEnding } from "../predicates.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { GroupAssignment } from "./group-assignment.ts";

export interface LeftoverDeps {
  readonly controller: Pick<ServiceControllerDeps, "services" | "listing">;
  readonly groupStates: GroupStates;
  readonly assignment: Pick<GroupAssignment, "tryAssignLeftover" | "knowsGroup" | "retryLeftover">;
  readonly queue: Pick<WorkQueue, "add">;
}

/** `balancers`: those with Fairlead's mark in the listing. Never throws: listeners call it. */
export function enqueueLeftovers(
  deps: LeftoverDeps,
  balancers: readonly ObservedLoadBalancer[] = markedBalancers(deps.controller),
): void {
  if (balancers.length === 0) return;
  const byUID = new Map(
    deps.controller.services.list().map((service) => [serviceUID(service.metadata.uid), service]),
  );
  for (const { group, owners } of balancers) {
    for (const uid of owners) {
      const service = byUID.get(uid);
      if (service === undefined) continue;
      for (const affected of assignOrRelease(deps, service, group)) deps.queue.add(affected);
    }
  }
}

/** Returns the groups to reconcile for a Service that a load balancer of this group serves. */
function assignOrRelease(deps: LeftoverDeps, service: Service, group: string): readonly string[] {
  const { groupStates, assignment } = deps;
  const key = keyOf(service.metadata);
  const uid = serviceUID(service.metadata.uid);
  // It needs no load balancer, but the cloud still has one for it.
  const isUnassigned = groupStates.groupOf(uid) === undefined;
  const assigned = isUnassigned ? (assignment.tryAssignLeftover(key, service) ?? []) : [];
  const current = groupStates.groupOf(uid);
  if (current === group || groupStates.isReleasePending(uid, group)) return assigned;
  if (current === undefined) assignment.retryLeftover(key, service);
  const knowledge = assignment.knowsGroup(service);
  const hasBalancer = current !== undefined && isMarked(deps, current, uid);
  if (knowledge === "yes" || (knowledge === "with errors" && hasBalancer)) {
    groupStates.addPendingRelease(group, uid);
    return [...assigned, group];
  }
  // Its group is unknown: it may have moved, or its annotations may be invalid. It stays where the cloud shows it.
  if (hasBalancer || isEnding(service)) return assigned;
  return [...assigned, ...groupStates.assign(key, uid, group)];
}

function isMarked({ controller }: LeftoverDeps, group: string, uid: ServiceUID): boolean {
  return markedBalancers(controller).some((item) => item.group === group && item.owners.includes(uid));
}

// After each listing, compares the marks in the cloud with the groups of the Services, and enqueues the release of leftovers: load
// balancers of Services that have moved to another group, or that no longer need one.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { WorkQueue } from "../../../runtime/work-queue.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { hasErrors } from "../desired/member.ts";
import { markedBalancers } from "../observed/ownership.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { GroupAssignment } from "./group-assignment.ts";

export interface LeftoverDeps {
  readonly controller: Pick<ServiceControllerDeps, "services" | "listing">;
  readonly groupStates: GroupStates;
  readonly desiredServices: Pick<DesiredServices, "tryOf">;
  readonly assignment: Pick<GroupAssignment, "assignLeftover" | "retryLeftover">;
  readonly queue: Pick<WorkQueue, "add">;
}

/** Never throws: listeners call it. */
export function enqueueLeftovers(deps: LeftoverDeps): void {
  const balancers = markedBalancers(deps.controller);
  if (balancers.length === 0) return;
  const byUID = new Map(
    deps.controller.services.list().map((service) => [serviceUID(service.metadata.uid), service]),
  );
  for (const { group, owners } of balancers) {
    for (const uid of owners) {
      const service = byUID.get(uid);
      if (service === undefined) continue;
      try {
        for (const affected of assignOrRelease(deps, service, group)) deps.queue.add(affected);
      } catch {
        deps.assignment.retryLeftover(keyOf(service.metadata), service);
      }
    }
  }
}

/** Returns the groups to reconcile for a Service that a load balancer of this group serves. */
function assignOrRelease(deps: LeftoverDeps, service: Service, group: string): readonly string[] {
  const { groupStates, assignment } = deps;
  const key = keyOf(service.metadata);
  const uid = serviceUID(service.metadata.uid);
  // It needs no load balancer, but the cloud still has one for it.
  const assigned = groupStates.groupOf(uid) === undefined ? assignment.assignLeftover(key, service) : [];
  const current = groupStates.groupOf(uid);
  const isInPlace = current === undefined || current === group;
  if (isInPlace || groupStates.isReleasePending(uid, group)) return assigned;
  // It may have moved while there was no leader, or its annotations may be invalid. Then it stays where the cloud shows it.
  const stays = !isMarked(deps, current, uid) && isUnreadable(deps, service);
  if (stays) return [...assigned, ...groupStates.assign(key, uid, group)];
  groupStates.addPendingRelease(group, uid);
  return [...assigned, group];
}

function isMarked({ controller }: LeftoverDeps, group: string, uid: ServiceUID): boolean {
  return markedBalancers(controller).some((item) => item.group === group && item.owners.includes(uid));
}

function isUnreadable({ desiredServices }: LeftoverDeps, service: Service): boolean {
  const member = desiredServices.tryOf(service);
  return member === undefined || hasErrors(member);
}

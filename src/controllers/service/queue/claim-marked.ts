// After each listing: compares the marks in the cloud with the groups of the Services. A Service that has something in a group
// it does not belong to, or that no longer asks for a load balancer, gets that group released.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { WorkQueue } from "../../../runtime/work-queue.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { hasErrors } from "../desired/member.ts";
import { markedBalancers } from "../observed/ownership.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { Placement } from "./placement.ts";

export interface ClaimDeps {
  readonly controller: Pick<ServiceControllerDeps, "services" | "listing">;
  readonly groupStates: GroupStates;
  readonly desiredServices: Pick<DesiredServices, "tryOf">;
  readonly placement: Pick<Placement, "placeLeftover" | "retryLeftover">;
  readonly queue: Pick<WorkQueue, "add">;
}

/** Never throws: listeners call it. */
export function claimMarkedBalancers(deps: ClaimDeps): void {
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
        for (const affected of claimOne(deps, service, group)) deps.queue.add(affected);
      } catch {
        deps.placement.retryLeftover(keyOf(service.metadata), service);
      }
    }
  }
}

/** Returns the groups to reconcile for a Service that a load balancer of this group serves. */
function claimOne(deps: ClaimDeps, service: Service, group: string): readonly string[] {
  const { groupStates, placement } = deps;
  const key = keyOf(service.metadata);
  const uid = serviceUID(service.metadata.uid);
  // It asks for no load balancer, but the cloud still has something of it.
  const placed = groupStates.groupOf(uid) === undefined ? placement.placeLeftover(key, service) : [];
  const current = groupStates.groupOf(uid);
  const isInPlace = current === undefined || current === group;
  if (isInPlace || groupStates.isReleasePending(uid, group)) return placed;
  // It may have moved while no replica led, or its annotations may be invalid: then it stays where the cloud shows it.
  const stays = !isShown(deps, current, uid) && isStuck(deps, service);
  if (stays) return [...placed, ...groupStates.place(key, uid, group)];
  groupStates.addPendingRelease(group, uid);
  return [...placed, group];
}

function isShown({ controller }: ClaimDeps, group: string, uid: ServiceUID): boolean {
  return markedBalancers(controller).some((item) => item.group === group && item.owners.includes(uid));
}

function isStuck({ desiredServices }: ClaimDeps, service: Service): boolean {
  const member = desiredServices.tryOf(service);
  return member === undefined || hasErrors(member);
}

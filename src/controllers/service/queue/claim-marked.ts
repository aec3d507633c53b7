// After each listing: compares the marks in the cloud with the groups of the Services. A Service that has something in a group
// it does not belong to, or that no longer asks for a load balancer, gets that group released.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ServiceDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isWrong } from "../desired/member.ts";
import { markedBalancers } from "../observed/ownership.ts";
import type { Groups } from "../state/groups.ts";
import type { Placement } from "./placement.ts";

export interface ClaimDeps {
  readonly deps: Pick<ServiceDeps, "services" | "listing">;
  readonly groups: Groups;
  readonly desiredServices: Pick<DesiredServices, "tryOf">;
  readonly placement: Pick<Placement, "put" | "tryAgain">;
  readonly enqueue: (group: string) => void;
}

/** Never throws: listeners call it. */
export function claimMarkedBalancers(claim: ClaimDeps): void {
  const items = markedBalancers(claim.deps);
  if (items.length === 0) return;
  const byUid = new Map(
    claim.deps.services.list().map((service) => [serviceUID(service.metadata.uid), service]),
  );
  for (const { group, owners } of items) {
    for (const uid of owners) {
      const service = byUid.get(uid);
      if (service === undefined) continue;
      try {
        for (const affected of claimOne(claim, service, group)) claim.enqueue(affected);
      } catch {
        claim.placement.tryAgain(keyOf(service.metadata));
      }
    }
  }
}

/** Returns the groups to reconcile for a Service that a load balancer of this group serves. */
function claimOne(claim: ClaimDeps, service: Service, group: string): readonly string[] {
  const { groups, placement } = claim;
  const key = keyOf(service.metadata);
  const uid = serviceUID(service.metadata.uid);
  // It asks for no load balancer, but the cloud still has something of it.
  const queued = groups.groupOf(key, uid) === undefined ? placement.put(key, service) : [];
  const now = groups.groupOf(key, uid);
  if (now === undefined || now === group || groups.owes(group, uid)) return queued;
  // It may have moved while no replica led, or its annotations may be invalid: then it stays where the cloud shows it.
  const stays = !isShown(claim, now, uid) && isStuck(claim, service);
  if (stays) return [...queued, ...groups.place(key, uid, group)];
  groups.owe(group, uid);
  return [...queued, group];
}

function isShown({ deps }: ClaimDeps, group: string, uid: ServiceUID): boolean {
  return markedBalancers(deps).some((one) => one.group === group && one.owners.includes(uid));
}

function isStuck({ desiredServices }: ClaimDeps, service: Service): boolean {
  const member = desiredServices.tryOf(service);
  return member === undefined || isWrong(member);
}

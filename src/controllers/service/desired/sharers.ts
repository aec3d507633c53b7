// The needs of the other Services on a shared load balancer, as input for one Service's plan.

import type { BalancerInventory } from "../../../cloud/inventory/balancers.ts";
import type { ServiceUID } from "../../../core/brand.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { isPaused } from "../../pause.ts";
import type { Desired, ServiceControllerDeps } from "../deps.ts";
import { isManaged } from "../predicates.ts";
import type { ServiceRecords } from "../state/service-records.ts";
import type { DesiredServices } from "./desired-services.ts";

export interface SharersContext {
  readonly controller: Pick<ServiceControllerDeps, "services" | "classes">;
  readonly desiredServices: Pick<DesiredServices, "tryOf">;
  readonly inventory: Pick<BalancerInventory, "sharedWith">;
  readonly records: Pick<ServiceRecords, "get">;
}

/** The keys of the other Services that have the load balancer. */
export function sharersOf(
  uid: ServiceUID,
  observed: ObservedLoadBalancer | undefined,
  { inventory, records }: Pick<SharersContext, "inventory" | "records">,
): readonly string[] {
  const views = observed === undefined ? [] : inventory.sharedWith(observed, uid);
  return views.flatMap(({ owners }) => owners.map((other) => records.get(other)?.key ?? other));
}

/** Returns sharers only for a shared load balancer. */
export function withSharers(
  desired: Desired,
  observed: ObservedLoadBalancer | undefined,
  context: SharersContext,
): Desired {
  const views = observed === undefined ? [] : context.inventory.sharedWith(observed, desired.owner.uid);
  if (views.length === 0) return desired;
  const sharers = views.flatMap((view) =>
    view.owners.map((uid) => [uid, desiredOf(uid, view, context)] as const),
  );
  return { ...desired, sharers: new Map(sharers) };
}

/** Undefined while the needs are unknown, or differ from the load balancer. */
function desiredOf(
  uid: ServiceUID,
  view: ObservedLoadBalancer,
  { controller: { services, classes }, desiredServices, records }: SharersContext,
): Desired | undefined {
  const service = services.get(records.get(uid)?.key ?? "");
  const isKnown = service?.metadata.uid === uid && isManaged(service, classes) && !isPaused(service);
  const member = isKnown ? desiredServices.tryOf(service, view) : undefined;
  if (member === undefined || member.isAwaited || member.isBlocked || member.isOnHold) return undefined;
  // The listeners of a released load balancer keep their targets.
  if (member.desired.ending === "release") return undefined;
  // The cloud may hide the machines, and they may be working targets.
  return { ...member.desired, targets: [...member.desired.targets, ...member.gone] };
}

// Finds the load balancer of a Service in the inventory, and says what is read again of what was observed before. If the listing is too old
// for that, it is unknown until a newer one arrives.

import type { Parts } from "../../../cloud/inventory/balancer-observation.ts";
import type { BalancerInventory, Source } from "../../../cloud/inventory/balancers.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { nextLateCheck } from "../../kernel/creations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isManaged } from "../predicates.ts";
import type { ServiceState } from "../state/service-record.ts";
import { ingressOf, isSameIngress } from "../status/status.ts";
import { type Adoption, adoptionOf, hadOther, primaryOf } from "./ownership.ts";

export interface FindContext {
  readonly controller: Pick<ServiceControllerDeps, "balancers" | "services" | "clock">;
  readonly desiredServices: Pick<DesiredServices, "of">;
  readonly inventory: BalancerInventory;
  /** Undefined: it is gone. */
  readonly service: Service | undefined;
  readonly state: ServiceState;
}

/** What the inventory has for a Service. */
export interface Found extends Adoption, Source {
  /** Further load balancers with the mark of the Service. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /** What the latest listing has for the Service, as it is there, if that is one load balancer and no change came later. */
  readonly listed: ObservedLoadBalancer | undefined;
}

/** Shared: most Services have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

const never = Number.NEGATIVE_INFINITY;

/** The load balancer of this Service, or else the one that it requests to adopt. `needs`: the parts that the last plan lacked. */
export function findBalancer(context: FindContext, needs: Parts = []): Found | "unknown" {
  const { controller, inventory, service, state } = context;
  const { uid, changedAt = never, session } = state;
  const { beganAt } = inventory;
  if (beganAt < dueAt(state, beganAt, controller.clock.monotonic())) return "unknown";
  // What a Service has left is not decided on an older observation.
  const source = inventory.sourceFor(uid, changedAt, service && session.observation, needs);
  if (source === undefined) return "unknown";
  const all = inventory.of(uid);
  const balancer = all.length < 2 ? all[0] : primaryFor(context, all);
  const duplicates = all.length < 2 ? none : all.filter((one) => one !== balancer);
  // A later listing that repeats one from before the change shows that the change was lost.
  const listed = beganAt > changedAt ? inventory.onlyOneOf(uid) : undefined;
  const found = { ...source, duplicates, listed };
  return balancer === undefined && service !== undefined
    ? { ...found, ...adoptionFor(context, service) }
    : { ...found, balancer, problems: [] };
}

/** A listing must have begun by then: a refused target is tried again, or a creation with an unknown outcome may have had its effect. */
function dueAt({ uncertainCreationAt, session }: ServiceState, beganAt: number, now: number): number {
  const lateCheck =
    uncertainCreationAt === undefined ? undefined : nextLateCheck(uncertainCreationAt, beganAt);
  const isDue = lateCheck !== undefined && lateCheck <= now;
  return Math.max(isDue ? lateCheck : never, session.refused.dueAt(now) ?? never);
}

function adoptionFor(
  { controller: { balancers, services }, desiredServices, inventory }: FindContext,
  service: Service,
): Adoption {
  const { adopts } = balancers;
  if (adopts === undefined) return { balancer: undefined, problems: [] };
  return adoptionOf(
    service,
    () => services.list().filter(isManaged),
    inventory.items,
    (one, balancer) => {
      const { desired } = desiredServices.of(one);
      return desired.ending === undefined && adopts.call(balancers, desired, balancer);
    },
  );
}

/** The one of several that is managed. */
function primaryFor(
  { controller: { balancers }, desiredServices, service, state }: FindContext,
  all: readonly ObservedLoadBalancer[],
): ObservedLoadBalancer | undefined {
  const isManagedOne = ({ name }: ObservedLoadBalancer) => name === state.session.managed?.name;
  if (service === undefined)
    return primaryOf(all, { isInUse: () => false, isManaged: isManagedOne, isOther: () => false });
  const desiredFor = (one: ObservedLoadBalancer) => desiredServices.of(service, one).desired;
  return primaryOf(all, {
    isInUse: (one) => {
      const publication = balancers.publish(desiredFor(one), one);
      if (publication.kind !== "addresses" || publication.addresses.length === 0) return false;
      return isSameIngress(service.status.loadBalancer?.ingress, ingressOf(publication));
    },
    isManaged: isManagedOne,
    isOther: (one) => hadOther(balancers, { service, desired: desiredFor(one) }, one),
  });
}

// Finds the load balancer of a Service in the inventory, and selects the parts of the previous observation to reread. If the
// listing is too old for that, the state is unknown until a newer one arrives.

import type { Parts } from "../../../cloud/inventory/balancer-observation.ts";
import type { Source } from "../../../cloud/inventory/balancers.ts";
import { serviceUID } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import { lateEffect } from "../../kernel/creations.ts";
import { ambiguousAdoption, hadOther, primaryOf } from "../observe/ownership.ts";
import { isManaged } from "../predicates.ts";
import type { ServiceState } from "../state/service-record.ts";
import { ingressOf, isSameIngress } from "../status/status.ts";
import type { ReconcileContext } from "./context.ts";

type FindContext = Pick<
  ReconcileContext,
  "controller" | "desiredServices" | "inventory" | "service" | "state"
>;

/** The inventory's result for a Service. */
export interface Found extends Source {
  readonly balancer: ObservedLoadBalancer | undefined;
  /** Why no load balancer is adopted. */
  readonly problems: readonly Problem[];
  /** Further load balancers with the mark of the Service. */
  readonly duplicates: readonly ObservedLoadBalancer[];
  /** The latest listing's entry for the Service, if it is exactly one load balancer that was not changed later. */
  readonly listed: ObservedLoadBalancer | undefined;
}

/** A shared empty array, because most Services have no duplicates. */
const none: readonly ObservedLoadBalancer[] = [];

const never = Number.NEGATIVE_INFINITY;

/** The load balancer of this Service, or else the one that it requests to adopt. `needs`: the parts that the last plan lacked. */
export function findBalancer(context: FindContext, needs: Parts = []): Found | "unknown" {
  const { controller, inventory, service, state } = context;
  const { uid, changedAt = never, session } = state;
  const { beganAt } = inventory;
  if (beganAt < dueAt(state, controller.clock.monotonic())) return "unknown";
  // An older observation is insufficient for decisions about a Service's leftovers.
  const source = inventory.sourceFor(uid, changedAt, service && session.observation, needs);
  if (source === undefined) return "unknown";
  const all = inventory.of(uid);
  const balancer = all.length < 2 ? all[0] : primaryFor(context, all);
  const duplicates = all.length < 2 ? none : all.filter((one) => one !== balancer);
  // A later listing that repeats the state from before a change shows that the change was lost.
  const listed = beganAt > changedAt ? inventory.onlyOneOf(uid) : undefined;
  const found = { ...source, duplicates, listed };
  return balancer === undefined && service !== undefined
    ? { ...found, ...adoptionFor(context, service) }
    : { ...found, balancer, problems: [] };
}

/**
 * When the next listing must begin: a rejected target is retried, or a creation with an unknown outcome may have taken effect.
 */
function dueAt({ uncertainCreationAt = never, session }: ServiceState, now: number): number {
  const checkAt = uncertainCreationAt + lateEffect;
  return Math.max(checkAt <= now ? checkAt : never, session.refused.dueAt(now) ?? never);
}

/** The unmarked load balancer that only this Service requests to adopt. */
function adoptionFor(
  { controller: { balancers, services, classes }, desiredServices, inventory }: FindContext,
  service: Service,
): Pick<Found, "balancer" | "problems"> {
  const requestOf = (one: Service, balancer: ObservedLoadBalancer): boolean | "shared" => {
    const { desired } = desiredServices.of(one);
    return desired.ending === undefined && (balancers.adopts?.(desired, balancer) ?? false);
  };
  const hits =
    balancers.adopts === undefined
      ? []
      : inventory.unmarked.filter((one) => requestOf(service, one) !== false);
  const isConflict = (other: Service, balancer: ObservedLoadBalancer): boolean => {
    const request = requestOf(other, balancer);
    return request === true || (request === "shared" && requestOf(service, balancer) === true);
  };
  const [hit] = hits;
  if (hit === undefined) return { balancer: undefined, problems: [] };
  const served = new Set(inventory.marked.flatMap(({ owners }) => owners));
  const isRival = (other: Service): boolean => {
    const { uid } = other.metadata;
    // A Service that has a load balancer cannot adopt a second one.
    if (uid === service.metadata.uid || served.has(serviceUID(uid)) || !isManaged(other, classes))
      return false;
    try {
      return hits.some((balancer) => isConflict(other, balancer));
    } catch {
      // A Service that the provider cannot read requests nothing, and must not block other Services.
      return false;
    }
  };
  const rivals = services.list().filter(isRival);
  if (hits.length === 1 && rivals.length === 0) return { balancer: hit, problems: [] };
  return { balancer: undefined, problems: [ambiguousAdoption(hits, rivals)] };
}

/** Which of several load balancers is managed. */
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

// Decides from the object alone which Services the controller manages, and what it must do for them. Pure.

import type { Service } from "../../kube/objects.ts";
import { cloudCondition } from "../well-known.ts";

/** A warning on a Service: an unknown annotation, or a limit that was reached. */
export const warningCondition = "CloudWarning";

/** The name that the Go managers use. It must never change: every Service with a load balancer has this finalizer. */
export const finalizer = "service.kubernetes.io/load-balancer-cleanup";

export const isLoadBalancer = ({ spec }: Service): boolean => spec.type === "LoadBalancer";

/** Services with a load balancer class belong to another controller. */
export function isForeignClass(service: Service): boolean {
  return isLoadBalancer(service) && service.spec.loadBalancerClass !== undefined;
}

export function wantsLoadBalancer(service: Service): boolean {
  return isLoadBalancer(service) && service.spec.loadBalancerClass === undefined;
}

export function hasFinalizer({ metadata }: Service): boolean {
  return (metadata.finalizers ?? []).includes(finalizer);
}

export const isBeingDeleted = ({ metadata }: Service): boolean => metadata.deletionTimestamp !== undefined;

/** Conditions that only Fairlead removes. */
function hasOurConditions({ status }: Service): boolean {
  return (status.conditions ?? []).some(({ type }) => type === cloudCondition || type === warningCondition);
}

interface CleanupInput {
  /** Whether the cloud has a load balancer with Fairlead's mark for this Service. Only known after the first listing. */
  readonly hasBalancer?: boolean;
}

/**
 * Whether a load balancer or finalizer of Fairlead must be removed. Upstream's table, except for Services of another class:
 * they are cleaned up if they still have a load balancer from before they had the class, and ignored otherwise.
 */
export function needsCleanup(service: Service, { hasBalancer = false }: CleanupInput = {}): boolean {
  const isEnding = isBeingDeleted(service) || !isLoadBalancer(service);
  if (isForeignClass(service)) return hasBalancer;
  return isEnding && (hasFinalizer(service) || hasBalancer);
}

const isServed = (service: Service): boolean => wantsLoadBalancer(service) && !isBeingDeleted(service);

/** Whether the controller has anything to do for this Service. */
export function isManaged(service: Service): boolean {
  return (
    isServed(service) ||
    needsCleanup(service) ||
    // It was rejected before it got a load balancer, and no longer needs one: only Fairlead's conditions are left. A finalizer may be
    // that of another controller.
    (hasOurConditions(service) && !(isForeignClass(service) && hasFinalizer(service)))
  );
}

/** It no longer needs a load balancer, so the one that it has is removed. */
export function isEnding(service: Service, input: CleanupInput = {}): boolean {
  return !isServed(service) || needsCleanup(service, input);
}

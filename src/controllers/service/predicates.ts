// Decisions that depend only on the Service object: whether the controller manages it, its IP families, and its health check.
// Pure.

import type { Service } from "../../kube/objects.ts";
import { cloudCondition } from "../well-known.ts";
import { isBalancerFinalizer, type ServedClasses } from "./served-classes.ts";

/** A warning on a Service: an unknown annotation, or a limit that was reached. */
export const warningCondition = "CloudWarning";

/** On Services, with --unhealthy-targets-condition: the cloud's health checks fail for too many targets. */
export const healthCondition = "TargetsUnhealthy";

const ownConditions: readonly string[] = [cloudCondition, warningCondition, healthCondition];

export const isLoadBalancer = ({ spec }: Service): boolean => spec.type === "LoadBalancer";

/** Whether another controller serves Services of this class, or Services without a class. */
export function isForeignClass(service: Service, classes: ServedClasses): boolean {
  return isLoadBalancer(service) && !classes.has(service.spec.loadBalancerClass);
}

export function wantsLoadBalancer(service: Service, classes: ServedClasses): boolean {
  return isLoadBalancer(service) && classes.has(service.spec.loadBalancerClass);
}

/** The finalizers that this manager may have added; a Service whose type changed may have the finalizer of a former class. */
export function ownFinalizers({ metadata }: Service, classes: ServedClasses): readonly string[] {
  const present = metadata.finalizers ?? [];
  return present.length === 0 ? present : [...classes.values()].filter((name) => present.includes(name));
}

export const hasFinalizer = (service: Service, classes: ServedClasses): boolean =>
  ownFinalizers(service, classes).length > 0;

/** Another manager may have a load balancer for the Service, but this manager has none. */
export function hasOnlyOtherFinalizer(service: Service, classes: ServedClasses): boolean {
  return !hasFinalizer(service, classes) && (service.metadata.finalizers ?? []).some(isBalancerFinalizer);
}

/**
 * Whether a load balancer with the mark of this Service may belong to this manager. Two managers may share an account, where
 * all marks look alike. A manager of classes adds its finalizer first; a manager of Services without a class removes
 * leftovers even if a user removed the finalizer.
 */
export function mayOwnBalancer(service: Service, classes: ServedClasses): boolean {
  const isClaimed = wantsLoadBalancer(service, classes) || hasFinalizer(service, classes);
  return isClaimed || (classes.has(undefined) && !hasOnlyOtherFinalizer(service, classes));
}

export const isBeingDeleted = ({ metadata }: Service): boolean => metadata.deletionTimestamp !== undefined;

/** Conditions that only Fairlead removes. */
export function hasOurConditions({ status }: Service): boolean {
  return (status.conditions ?? []).some(({ type }) => ownConditions.includes(type));
}

interface CleanupInput {
  /** Whether the cloud has a load balancer with Fairlead's mark for this Service; known only after the first listing. */
  readonly hasBalancer?: boolean;
}

/**
 * Whether a load balancer or finalizer of Fairlead must be removed. Follows upstream's table, except for Services of another
 * class: these are cleaned up if they still have a load balancer from before they had the class, and ignored otherwise.
 */
export function needsCleanup(
  service: Service,
  classes: ServedClasses,
  { hasBalancer = false }: CleanupInput = {},
): boolean {
  if (isForeignClass(service, classes)) return hasBalancer;
  const isEnding = isBeingDeleted(service) || !isLoadBalancer(service);
  return isEnding && (hasFinalizer(service, classes) || hasBalancer);
}

const isServed = (service: Service, classes: ServedClasses): boolean =>
  wantsLoadBalancer(service, classes) && !isBeingDeleted(service);

/** Whether the controller has anything to do for this Service. */
export function isManaged(service: Service, classes: ServedClasses): boolean {
  return (
    isServed(service, classes) ||
    needsCleanup(service, classes) ||
    // The Service was rejected before it got a load balancer, and needs none now: only Fairlead's conditions remain. The
    // conditions of a Service with a different class may come from the instance of Fairlead that serves that class.
    (hasOurConditions(service) &&
      !isForeignClass(service, classes) &&
      !hasOnlyOtherFinalizer(service, classes))
  );
}

/** True if the Service no longer needs a load balancer. Its load balancer is then removed. */
export function isEnding(service: Service, classes: ServedClasses, input: CleanupInput = {}): boolean {
  return !isServed(service, classes) || needsCleanup(service, classes, input);
}

type Family = "IPv4" | "IPv6";

/** The IP families of the Service; IPv4 if an old object has none. */
export function familiesOf({ spec }: Service): readonly Family[] {
  const declared = (spec.ipFamilies ?? []).filter((family) => family === "IPv4" || family === "IPv6");
  if (declared.length > 0) return declared;
  const derived = (spec.clusterIPs ?? [])
    .filter((ip) => ip !== "" && ip !== "None")
    .map((ip): Family => (ip.includes(":") ? "IPv6" : "IPv4"));
  return derived.length > 0 ? derived : ["IPv4"];
}

export function requestsOnlyLocalTraffic({ spec }: Service): boolean {
  return (spec.type === "LoadBalancer" || spec.type === "NodePort") && spec.externalTrafficPolicy === "Local";
}

export function needsHealthCheck(service: Service): boolean {
  return service.spec.type === "LoadBalancer" && requestsOnlyLocalTraffic(service);
}

/** Where kube-proxy reports whether a Node has an endpoint of this Service. */
export function healthCheckPathPort(
  service: Service,
): { readonly path: string; readonly port: number } | undefined {
  const port = service.spec.healthCheckNodePort ?? 0;
  return needsHealthCheck(service) && port !== 0 ? { path: "/healthz", port } : undefined;
}

// What the object of a Service alone decides: whether the controller manages it, its IP families, and where its health check is. Pure.

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
export function hasOurConditions({ status }: Service): boolean {
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

// Which Services are our business, in the questions that everything else of this controller asks. It looks at the object
// alone; what the cloud has is told to it.

import type { Service } from "../../kube/objects.ts";
import { cloudCondition, pausedAnnotation } from "../well-known.ts";

/** Something is odd and the rest goes on: a name that is not known, a limit that is reached. */
export const warningCondition = "CloudWarning";

/** The Go managers' name. May never change: it stands on every Service that has a balancer. */
export const finalizer = "service.kubernetes.io/load-balancer-cleanup";

export const isLoadBalancer = ({ spec }: Service): boolean => spec.type === "LoadBalancer";

/** Of a class, so somebody else's: this controller serves the Services without one. */
function isForeignClass(service: Service): boolean {
  return isLoadBalancer(service) && service.spec.loadBalancerClass !== undefined;
}

export function wantsLoadBalancer(service: Service): boolean {
  return isLoadBalancer(service) && service.spec.loadBalancerClass === undefined;
}

export function hasFinalizer({ metadata }: Service): boolean {
  return (metadata.finalizers ?? []).includes(finalizer);
}

export const isBeingDeleted = ({ metadata }: Service): boolean => metadata.deletionTimestamp !== undefined;

/** Anything but a plain "false" pauses: who wrote "yes" did not mean "go on". */
export function isPaused({ metadata }: Service): boolean {
  return (metadata.annotations?.[pausedAnnotation] ?? "false") !== "false";
}

/** Conditions that only Fairlead removes. */
function hasOurConditions({ status }: Service): boolean {
  return (status.conditions ?? []).some(({ type }) => type === cloudCondition || type === warningCondition);
}

interface CleanupInput {
  /** Whether the cloud has anything with our mark for this Service; to be asked only once the cloud was listed. */
  readonly hasBalancer?: boolean;
}

/**
 * Something of ours has to go. Upstream's table, but for Services of another class: with a balancer of ours (they had no
 * class before) they are cleaned up at once, without one they are invisible.
 */
export function needsCleanup(service: Service, { hasBalancer = false }: CleanupInput = {}): boolean {
  const isEnding = isBeingDeleted(service) || !isLoadBalancer(service);
  if (isForeignClass(service)) return hasBalancer;
  return isEnding && (hasFinalizer(service) || hasBalancer);
}

const isServed = (service: Service): boolean => wantsLoadBalancer(service) && !isBeingDeleted(service);

/** Whether this Service concerns us at all. */
export function concernsUs(service: Service): boolean {
  return (
    isServed(service) ||
    needsCleanup(service) ||
    // It was refused before it had anything else, and asks for nothing now.
    (!isForeignClass(service) && hasOurConditions(service))
  );
}

/** It asks for nothing any more; what it has goes. */
export function isEnding(service: Service, input: CleanupInput = {}): boolean {
  return !isServed(service) || needsCleanup(service, input);
}

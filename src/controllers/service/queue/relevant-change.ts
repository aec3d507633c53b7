// Decides which changes of a Service must be reconciled: those that upstream compares, some that it omits (status, IP families,
// deletion), and only the annotations that are read. Pure.

import type { Labels, Service } from "../../../kube/objects.ts";
import { hasFinalizer, wantsLoadBalancer } from "../predicates.ts";
import { isSameIngress } from "../status/status.ts";

export interface RelevantChangeOptions {
  /** Labels that hold facts. None by default. */
  isOurLabel?(key: string): boolean;
}

type Spec = Service["spec"];

const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

function sortedMap(map: Labels | undefined, isCounted: (key: string) => boolean) {
  return Object.entries(map ?? {})
    .filter(([key]) => isCounted(key))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

function portsOf({ ports }: Spec) {
  return (ports ?? []).map(({ name, protocol, port, nodePort, targetPort, appProtocol }) => [
    name ?? "",
    protocol ?? "",
    port,
    nodePort ?? 0,
    targetPort ?? 0,
    appProtocol ?? null,
  ]);
}

/** The fields that upstream compares, in its order. An absent value equals Go's zero value where it does in upstream. */
const upstreamFields: readonly ((spec: Spec) => unknown)[] = [
  (spec) => spec.loadBalancerSourceRanges,
  portsOf,
  (spec) => spec.sessionAffinity ?? "",
  (spec) => spec.sessionAffinityConfig,
  (spec) => spec.loadBalancerIP ?? "",
  (spec) => spec.externalIPs ?? [],
  (spec) => spec.externalTrafficPolicy ?? "",
  (spec) => spec.healthCheckNodePort ?? 0,
];

function isSameSpec(fields: readonly ((spec: Spec) => unknown)[], before: Service, after: Service): boolean {
  return fields.every((field) => isSame(field(before.spec), field(after.spec)));
}

const omittedFields: readonly ((spec: Spec) => unknown)[] = [
  (spec) => spec.ipFamilies ?? [],
  (spec) => spec.ipFamilyPolicy ?? "",
  (spec) => spec.allocateLoadBalancerNodePorts ?? true,
];

const comparedFields = [...upstreamFields, ...omittedFields];

/** A Service of another class may still have a load balancer with Fairlead's mark, so it is included. */
function mayConcernUs(service: Service | undefined): boolean {
  return service !== undefined && (wantsLoadBalancer(service) || hasFinalizer(service));
}

/**
 * `isOurAnnotation`: under the provider's prefix or fairlead.dev/, a fact, or an annotation of Kubernetes that
 * Fairlead reads.
 */
export function isRelevantChange(
  before: Service | undefined,
  after: Service | undefined,
  isOurAnnotation: (key: string) => boolean,
  { isOurLabel = () => false }: RelevantChangeOptions = {},
): boolean {
  if (!mayConcernUs(before) && !mayConcernUs(after)) return false;
  if (before === undefined || after === undefined) return true;
  if (
    before.metadata.uid !== after.metadata.uid ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    before.spec.type !== after.spec.type ||
    before.spec.loadBalancerClass !== after.spec.loadBalancerClass ||
    // Another client removed it. Only the controller adds it.
    (hasFinalizer(before) && !hasFinalizer(after))
  ) {
    return true;
  }
  const isSameMap = (
    one: Labels | undefined,
    other: Labels | undefined,
    isCounted: (key: string) => boolean,
  ) => isSame(sortedMap(one, isCounted), sortedMap(other, isCounted));
  return !(
    isSameMap(before.metadata.annotations, after.metadata.annotations, isOurAnnotation) &&
    isSameMap(before.metadata.labels, after.metadata.labels, isOurLabel) &&
    isSameSpec(comparedFields, before, after) &&
    isSameIngress(before.status.loadBalancer?.ingress, after.status.loadBalancer?.ingress)
  );
}

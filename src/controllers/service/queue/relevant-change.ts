// Which changes of a Service concern us: what upstream compares, what it forgets (status, families, selectors, deletion),
// and of the annotations only those that are read by somebody here.

import type { Labels, Service } from "../../../kube/objects.ts";
import { hasFinalizer, wantsLoadBalancer } from "../predicates.ts";
import { isSameIngress } from "../status/ingress.ts";

export interface RelevantChangeOptions {
  /** Labels that hold facts or choose a pool; none when left out. */
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

/** What upstream compares of a specification, in its order; an absent value equals Go's empty one where it does there. */
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

const forgottenFields: readonly ((spec: Spec) => unknown)[] = [
  (spec) => spec.ipFamilies ?? [],
  (spec) => spec.ipFamilyPolicy ?? "",
  (spec) => spec.allocateLoadBalancerNodePorts ?? true,
];

const ourFields = [...upstreamFields, ...forgottenFields];

/** A Service of another class may still have a balancer of ours; only the cloud can tell, so it is looked at. */
function concernsUs(service: Service | undefined): boolean {
  return service !== undefined && (wantsLoadBalancer(service) || hasFinalizer(service));
}

/** `isOurAnnotation`: under the provider's prefix, ours under fairlead.dev/, facts, and Kubernetes' own that we read. */
export function isRelevantChange(
  before: Service | undefined,
  after: Service | undefined,
  isOurAnnotation: (key: string) => boolean,
  { isOurLabel = () => false }: RelevantChangeOptions = {},
): boolean {
  if (!concernsUs(before) && !concernsUs(after)) return false;
  if (before === undefined || after === undefined) return true;
  if (
    before.metadata.uid !== after.metadata.uid ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    before.spec.type !== after.spec.type ||
    before.spec.loadBalancerClass !== after.spec.loadBalancerClass ||
    // Gone by another hand; that it came is our own doing.
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
    isSameSpec(ourFields, before, after) &&
    isSameIngress(before.status.loadBalancer?.ingress, after.status.loadBalancer?.ingress)
  );
}

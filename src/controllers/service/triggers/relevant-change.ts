// Decides which changes of a Service must be reconciled: those that upstream compares, some that upstream omits (status, IP
// families, deletion), and only annotations in use. Follows Services even while this replica does not lead, to know which of them
// users changed, so that a difference is not drift, and which deletions were seen.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Labels, Service } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import { readsAnnotation } from "../annotations/annotations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { isFactAnnotation, isFactLabel } from "../desired/facts.ts";
import { hasFinalizer, isBeingDeleted, isManaged, wantsLoadBalancer } from "../predicates.ts";
import type { ServedClasses } from "../served-classes.ts";
import type { ServiceRecords } from "../state/service-records.ts";
import type { IsRelevant } from "../status/service-writes.ts";
import { isSameIngress } from "../status/status.ts";

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

/**
 * The fields that upstream compares, in its order, and three that it omits. As in upstream, an absent value equals Go's zero
 * value.
 */
const comparedFields: readonly ((spec: Spec) => unknown)[] = [
  (spec) => spec.loadBalancerSourceRanges,
  portsOf,
  (spec) => spec.sessionAffinity ?? "",
  (spec) => spec.sessionAffinityConfig,
  (spec) => spec.loadBalancerIP ?? "",
  (spec) => spec.externalIPs ?? [],
  (spec) => spec.externalTrafficPolicy ?? "",
  (spec) => spec.healthCheckNodePort ?? 0,
  (spec) => spec.ipFamilies ?? [],
  (spec) => spec.ipFamilyPolicy ?? "",
  (spec) => spec.allocateLoadBalancerNodePorts ?? true,
];

/** A Service of another class may still have a load balancer with Fairlead's mark, so it is included. */
function mayConcernUs(service: Service | undefined, classes: ServedClasses): boolean {
  return (
    service !== undefined &&
    (isManaged(service, classes) || wantsLoadBalancer(service, classes) || hasFinalizer(service, classes))
  );
}

/**
 * `isOurAnnotation`: under the provider's prefix or fairlead.dev/, a fact, or an annotation of Kubernetes that
 * Fairlead reads.
 */
export function isRelevantChange(
  before: Service | undefined,
  after: Service | undefined,
  classes: ServedClasses,
  isOurAnnotation: (key: string) => boolean,
  /** Whether a label stores a fact. */
  isOurLabel: (key: string) => boolean = () => false,
): boolean {
  if (!mayConcernUs(before, classes) && !mayConcernUs(after, classes)) return false;
  if (before === undefined || after === undefined) return true;
  if (
    before.metadata.uid !== after.metadata.uid ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    before.spec.type !== after.spec.type ||
    before.spec.loadBalancerClass !== after.spec.loadBalancerClass ||
    // Another client removed the finalizer. Only the controller adds it.
    (hasFinalizer(before, classes) && !hasFinalizer(after, classes))
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
    comparedFields.every((field) => isSame(field(before.spec), field(after.spec))) &&
    isSameIngress(before.status.loadBalancer?.ingress, after.status.loadBalancer?.ingress)
  );
}

/** Changes of facts are relevant; the provider declares where facts are stored. */
export function relevanceFor({
  classes,
  annotations,
  facts,
}: Pick<ServiceControllerDeps, "classes" | "annotations" | "facts">): IsRelevant {
  const isOurAnnotation = readsAnnotation(annotations, (key) => isFactAnnotation(facts, key));
  const isOurLabel = (key: string): boolean => isFactLabel(facts, key);
  return (before, after) => isRelevantChange(before, after, classes, isOurAnnotation, isOurLabel);
}

/** The Services that users changed while no session ran. A difference in one of them is not drift. */
export class StandbyChanges {
  readonly #classes: ServedClasses;
  readonly #isOurAnnotation: (key: string) => boolean;
  readonly #changed = new Set<ServiceUID>();
  #isLeading = false;

  constructor({
    services,
    classes,
    annotations,
    facts,
  }: Pick<ServiceControllerDeps, "services" | "classes" | "annotations" | "facts">) {
    this.#classes = classes;
    const reads = readsAnnotation(annotations);
    this.#isOurAnnotation = (key) => reads(key) && !isFactAnnotation(facts, key);
    services.subscribe(({ before, after }) => this.#note(before, after));
  }

  /** Begins a session, in which changes are reconciled immediately. Returns a function that ends it. */
  beginSession(): () => void {
    this.#isLeading = true;
    return () => {
      this.#isLeading = false;
    };
  }

  has({ metadata }: Service): boolean {
    return this.#changed.has(serviceUID(metadata.uid));
  }

  /** Called when the Service's load balancer is as desired. */
  forget({ metadata }: Service): void {
    this.#changed.delete(serviceUID(metadata.uid));
  }

  #note(before: Service | undefined, after: Service | undefined): void {
    if (before === undefined) return;
    const uid = serviceUID(before.metadata.uid);
    if (after?.metadata.uid !== before.metadata.uid) this.#changed.delete(uid);
    else if (!this.#isLeading && this.#isChangedByUser(before, after)) this.#changed.add(uid);
  }

  /** The leader writes the status, finalizers and facts, so changes of these are not by users. */
  #isChangedByUser(before: Service, after: Service): boolean {
    const { finalizers: _, ...metadata } = after.metadata;
    const { finalizers = [] } = before.metadata;
    const masked = { ...after, metadata: { ...metadata, finalizers }, status: before.status };
    return isRelevantChange(before, masked, this.#classes, this.#isOurAnnotation);
  }
}

/**
 * A Service with a finalizer cannot disappear without an earlier update. A Service without finalizers is deleted by a single watch
 * event.
 */
export function isDeletionSeen(
  before: Service,
  { isFromList }: Pick<Change<Service>, "isFromList">,
  classes: ServedClasses,
): boolean {
  const isDeletable = (before.metadata.finalizers ?? []).length === 0 && isFromList !== true;
  return isBeingDeleted(before) || !wantsLoadBalancer(before, classes) || isDeletable;
}

/** Records seen deletions for the life of the process, because a standby replica sees deletions that the next leader will not. */
export function followDeletions(
  { services, classes }: Pick<ServiceControllerDeps, "services" | "classes">,
  records: Pick<ServiceRecords, "get">,
): void {
  services.subscribe((change) => {
    const { before, after } = change;
    if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
    records.get(serviceUID(before.metadata.uid))?.noteVanished(isDeletionSeen(before, change, classes));
  });
}

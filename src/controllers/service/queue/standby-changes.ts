// Follows Services for the life of the process, also while this replica does not lead: which of them users changed, so that a
// difference is not drift, and which deletions were seen. A Service that only vanished counts against the mass limit.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import { readsAnnotation } from "../annotations/annotations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { isFactAnnotation } from "../desired/facts.ts";
import { isBeingDeleted, wantsLoadBalancer } from "../predicates.ts";
import type { ServiceStates } from "../state/service-states.ts";
import { isRelevantChange } from "./relevant-change.ts";

export class StandbyChanges {
  readonly #isOurAnnotation: (key: string) => boolean;
  readonly #changed = new Set<ServiceUID>();
  #isLeading = false;

  constructor({
    services,
    annotations,
    facts,
  }: Pick<ServiceControllerDeps, "services" | "annotations" | "facts">) {
    const reads = readsAnnotation(annotations);
    this.#isOurAnnotation = (key) => reads(key) && !isFactAnnotation(facts, key);
    services.subscribe(({ before, after }) => this.#note(before, after));
  }

  /** While this replica leads, changes are reconciled immediately. */
  set isLeading(value: boolean) {
    this.#isLeading = value;
  }

  has({ metadata }: Service): boolean {
    return this.#changed.has(serviceUID(metadata.uid));
  }

  /** The load balancer of the Service is as desired. */
  forget({ metadata }: Service): void {
    this.#changed.delete(serviceUID(metadata.uid));
  }

  #note(before: Service | undefined, after: Service | undefined): void {
    if (before === undefined) return;
    const uid = serviceUID(before.metadata.uid);
    if (after?.metadata.uid !== before.metadata.uid) this.#changed.delete(uid);
    else if (!this.#isLeading && this.#isChangedByUser(before, after)) this.#changed.add(uid);
  }

  /** The leader writes the status, the finalizers and facts. */
  #isChangedByUser(before: Service, after: Service): boolean {
    const { finalizers: _, ...metadata } = after.metadata;
    const { finalizers = [] } = before.metadata;
    const masked = { ...after, metadata: { ...metadata, finalizers }, status: before.status };
    return isRelevantChange(before, masked, this.#isOurAnnotation);
  }
}

/** A Service with a finalizer cannot disappear without an update before. One without any is deleted by a single watch event. */
export function isDeletionSeen(
  before: Service,
  { isFromList }: Pick<Change<Service>, "isFromList">,
): boolean {
  const isDeletable = (before.metadata.finalizers ?? []).length === 0 && isFromList !== true;
  return isBeingDeleted(before) || !wantsLoadBalancer(before) || isDeletable;
}

/** Records seen deletions for the life of the process: a standby replica sees what the leader will not see again. */
export function followDeletions(
  { services }: Pick<ServiceControllerDeps, "services">,
  serviceStates: Pick<ServiceStates, "get" | "commit">,
): void {
  services.subscribe((change) => {
    const { before, after } = change;
    if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
    const state = serviceStates.get(serviceUID(before.metadata.uid));
    if (state === undefined) return;
    serviceStates.commit(state, { kind: "vanished", isDeletionSeen: isDeletionSeen(before, change) });
  });
}

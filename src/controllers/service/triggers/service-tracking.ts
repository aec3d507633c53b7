// The Services with pending work: Services that need a load balancer, still have one, or have its finalizer. After each listing,
// Services are added for which the cloud still has objects.

import type { BalancerInventory } from "../../../cloud/inventory/balancers.ts";
import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { priorities, type WorkQueue } from "../../../runtime/work-queue.ts";
import { otherControllerOf } from "../annotations/annotations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { EvidenceUpdates } from "../observe/evidence-updates.ts";
import { hasOurConditions, isManaged, mayOwnBalancer, ownFinalizers } from "../predicates.ts";
import { finalizer } from "../served-classes.ts";
import type { ServiceRecords } from "../state/service-records.ts";

export interface ServiceTrackingDeps {
  readonly controller: Pick<ServiceControllerDeps, "services" | "classes" | "annotations" | "program">;
  readonly records: ServiceRecords;
  readonly evidenceUpdates: Pick<EvidenceUpdates, "noteTraces">;
  /** The uids of the Services to reconcile. */
  readonly queue: WorkQueue;
}

export class ServiceTracking {
  readonly #deps: ServiceTrackingDeps;

  constructor(deps: ServiceTrackingDeps) {
    this.#deps = deps;
  }

  /** Called when a Service has changed. Moves it to the front of the queue. */
  enqueue(key: string): void {
    for (const uid of this.track(key)) {
      this.#deps.records.get(uid)?.noteServiceChange();
      this.#deps.queue.add(uid, { priority: priorities.urgent });
    }
  }

  /** Returns the Services to reconcile: the current Service with this name, and a former one. */
  track(key: string): readonly ServiceUID[] {
    const { controller, records } = this.#deps;
    const service = controller.services.get(key);
    const own = service !== undefined && this.#concernsUs(service) ? service : undefined;
    const before = records.managed(key)?.uid;
    const left = before !== undefined && before !== own?.metadata.uid ? [before] : [];
    if (left.length > 0) records.leave(key);
    return own === undefined ? left : [...left, this.#manage(own)];
  }

  /** Called after a listing: reconciles the Services that need no load balancer but still have one. */
  enqueueLeftovers({ marked }: Pick<BalancerInventory, "marked">): void {
    const { controller, records, queue } = this.#deps;
    const unmanaged = new Set(
      marked.flatMap(({ owners }) => owners.filter((uid) => records.get(uid)?.phase !== "managed")),
    );
    if (unmanaged.size === 0) return;
    for (const service of controller.services.list()) {
      if (!unmanaged.has(serviceUID(service.metadata.uid)) || !mayOwnBalancer(service, controller.classes))
        continue;
      queue.add(this.#manage(service));
    }
  }

  #manage(service: Service): ServiceUID {
    const { records, evidenceUpdates } = this.#deps;
    const isNew = records.managed(keyOf(service.metadata))?.uid !== service.metadata.uid;
    const record = records.manage(service);
    if (isNew) evidenceUpdates.noteTraces(record, service);
    return record.uid;
  }

  #concernsUs(service: Service): boolean {
    const { classes } = this.#deps.controller;
    return (isManaged(service, classes) && !this.#isServedElsewhere(service)) || this.#hasOwnTraces(service);
  }

  #isKnown({ metadata }: Service): boolean {
    return this.#deps.records.get(serviceUID(metadata.uid))?.phase === "managed";
  }

  /**
   * True if the load balancer class changed while this process, or an earlier one, managed the Service. The finalizer is removed
   * once the cloud has nothing left of it.
   */
  #hasOwnTraces(service: Service): boolean {
    const { classes, program } = this.#deps.controller;
    const own = ownFinalizers(service, classes);
    if (this.#isKnown(service)) return own.length > 0 || hasOurConditions(service);
    // Other controllers of classes use the Go managers' finalizer.
    return own.some((name) => name !== finalizer || service.finalizerWriters?.[finalizer] === program);
  }

  /**
   * Another controller serves the Service. A known Service stays until nothing of it remains in the cloud, and Fairlead's earlier
   * conditions are removed first, as for a Service of another class.
   */
  #isServedElsewhere(service: Service): boolean {
    if (this.#isKnown(service) || hasOurConditions(service)) return false;
    return otherControllerOf(this.#deps.controller.annotations, service) !== undefined;
  }
}

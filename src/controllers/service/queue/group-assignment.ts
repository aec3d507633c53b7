// Assigns each Service to the group that the provider returns, and after each listing finds what is left of Services in other groups.
// A Service that cannot be assigned gets an event and is retried, without blocking the others.

import { backoffAfter } from "../../../cloud/error-policies.ts";
import { serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { priorities, WorkQueue } from "../../../runtime/work-queue.ts";
import { requeue, runWorkers, settled } from "../../../runtime/workers.ts";
import { otherControllerOf } from "../annotations/annotations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { hasErrors, type Member } from "../desired/members.ts";
import type { EvidenceUpdates } from "../observed/evidence-updates.ts";
import type { ListingIndex } from "../observed/listing-index.ts";
import { finalizer, hasFinalizer, hasOurConditions, isEnding, isManaged } from "../predicates.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ServiceStates } from "../state/service-states.ts";
import { syncFailed } from "../status/events.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";

export interface GroupAssignmentDeps {
  readonly controller: Pick<
    ServiceControllerDeps,
    "services" | "balancers" | "annotations" | "clock" | "random" | "program"
  >;
  readonly groupStates: GroupStates;
  readonly serviceStates: ServiceStates;
  readonly desiredServices: Pick<DesiredServices, "of">;
  readonly evidenceUpdates: Pick<EvidenceUpdates, "noteTraces">;
  readonly reporter: Pick<ServiceReporter, "report">;
  /** The groups to reconcile. */
  readonly queue: WorkQueue;
}

export class GroupAssignment {
  readonly #deps: GroupAssignmentDeps;
  /** Keys of Services that could not be assigned. */
  readonly #unassigned: WorkQueue;

  constructor(deps: GroupAssignmentDeps) {
    this.#deps = deps;
    this.#unassigned = new WorkQueue(deps.controller.clock);
  }

  /** Assigns a Service that has changed, and puts its groups at the front of the queue. */
  enqueue(key: string): void {
    for (const group of this.assign(key)) {
      const state = this.#deps.groupStates.get(group);
      if (state !== undefined) state.noteServiceChange();
      this.#deps.queue.add(group, { priority: priorities.urgent });
    }
  }

  /** Returns the groups to reconcile. Never throws: listeners call it. */
  assign(key: string): readonly string[] {
    const { controller, groupStates } = this.#deps;
    const service = controller.services.get(key);
    try {
      return this.#assignManaged(key, service);
    } catch {
      this.#unassigned.add(key);
      // It must not replace another Service that had the same name.
      const isAssigned =
        service === undefined || groupStates.groupOf(serviceUID(service.metadata.uid)) !== undefined;
      return isAssigned ? [] : groupStates.remove(key);
    }
  }

  /** Assigns a Service that may no longer need a load balancer. Throws the provider's error. */
  #assignLeftover(key: string, service: Service): readonly string[] {
    const { groupStates, evidenceUpdates } = this.#deps;
    const { member, group: named } = this.#place(service);
    const { uid } = member.desired.owner;
    // An invalid annotation does not move the Service, because it may be the one that names the group.
    const current = hasErrors(member) ? groupStates.groupOf(uid) : undefined;
    const group = current ?? named;
    const isNew = groupStates.groupOf(uid) === undefined;
    const groups = groupStates.assign(key, uid, group);
    if (isNew) evidenceUpdates.noteTraces(groupStates.of(group), service);
    return groups;
  }

  #place(service: Service): { readonly member: Member; readonly group: string } {
    const { controller, desiredServices } = this.#deps;
    const member = desiredServices.of(service);
    return { member, group: controller.balancers.groupOf?.(member.desired) ?? member.desired.owner.uid };
  }

  /** Retries the Services that could not be assigned, until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    const { controller, queue, reporter } = this.#deps;
    const { services, clock, random } = controller;
    return runWorkers(
      {
        queue: this.#unassigned,
        count: () => 1,
        reconcile: async (key) => {
          for (const group of this.#retry(key)) queue.add(group);
          return settled;
        },
        onError: (key, error, failures) => {
          const service = services.get(key);
          if (service !== undefined) reporter.report(service, "failure", [syncFailed(service, error)]);
          return requeue(backoffAfter(error, failures, clock, random), "its group could not be determined");
        },
        clock,
      },
      signal,
    );
  }

  #retry(key: string): readonly string[] {
    const { controller, serviceStates } = this.#deps;
    const service = controller.services.get(key);
    const state = service && serviceStates.get(serviceUID(service.metadata.uid));
    if (service === undefined || state?.hasLeftovers !== true) return this.#assignManaged(key, service);
    const groups = this.#assignLeftover(key, service);
    state.setLeftovers(false);
    return groups;
  }

  /**
   * It got a load balancer class while it was managed, by this process or one before it. Its finalizer is removed as soon as nothing of
   * it is left in the cloud.
   */
  #hasOwnFinalizer(service: Service): boolean {
    if (!hasFinalizer(service)) return false;
    const isKnown = this.#deps.groupStates.groupOf(serviceUID(service.metadata.uid)) !== undefined;
    return isKnown || service.finalizerWriters?.[finalizer] === this.#deps.controller.program;
  }

  /**
   * Another controller serves it. One that is known stays until nothing of it is left in the cloud, and conditions of Fairlead from before
   * are removed first, as are those of another class.
   */
  #isServedElsewhere(service: Service): boolean {
    const { controller, groupStates } = this.#deps;
    const isKnown = groupStates.groupOf(serviceUID(service.metadata.uid)) !== undefined;
    if (isKnown || hasOurConditions(service)) return false;
    return otherControllerOf(controller.annotations, service) !== undefined;
  }

  #assignManaged(key: string, service: Service | undefined): readonly string[] {
    const isOwn =
      service !== undefined &&
      ((isManaged(service) && !this.#isServedElsewhere(service)) || this.#hasOwnFinalizer(service));
    return isOwn ? this.#assignLeftover(key, service) : this.#deps.groupStates.remove(key);
  }

  /** After a listing: has the groups reconciled that have something of a Service. Never throws: listeners call it. */
  enqueueLeftovers(index: ListingIndex): void {
    const { marked } = index;
    if (marked.length === 0) return;
    const { controller, queue } = this.#deps;
    const byUID = new Map(
      controller.services.list().map((service) => [serviceUID(service.metadata.uid), service]),
    );
    for (const { group, owners } of marked) {
      for (const uid of owners) {
        const service = byUID.get(uid);
        if (service === undefined) continue;
        for (const affected of this.#assignOrRelease(service, group, index)) queue.add(affected);
      }
    }
  }

  /** Returns the groups to reconcile for a Service that a load balancer of this group serves. */
  #assignOrRelease(service: Service, group: string, index: ListingIndex): readonly string[] {
    const { groupStates, serviceStates } = this.#deps;
    const key = keyOf(service.metadata);
    const uid = serviceUID(service.metadata.uid);
    // It needs no load balancer, but the cloud still has one for it.
    const isUnassigned = groupStates.groupOf(uid) === undefined;
    const assigned = isUnassigned ? (attempt(() => this.#assignLeftover(key, service)) ?? []) : [];
    const current = groupStates.groupOf(uid);
    if (current === group || groupStates.get(group)?.pendingReleases.has(uid) === true) return assigned;
    if (current === undefined) {
      serviceStates.of(service).setLeftovers(true);
      this.#unassigned.add(key);
    }
    const place = attempt(() => this.#place(service));
    const hasBalancer = current !== undefined && index.ownersIn(current).includes(uid);
    // An invalid annotation may name another group.
    if (place !== undefined && (hasBalancer || !hasErrors(place.member))) {
      groupStates.addPendingRelease(group, uid);
      return [...assigned, group];
    }
    // Its group is unknown: it may have moved, or its annotations may be invalid. It stays where the cloud shows it.
    if (hasBalancer || isEnding(service)) return assigned;
    return [...assigned, ...groupStates.assign(key, uid, group)];
  }
}

/** Undefined when the provider cannot say it. */
function attempt<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

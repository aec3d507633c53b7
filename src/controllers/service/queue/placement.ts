// Places each Service into the group that the provider names. A Service that cannot be placed gets an event and is retried, and
// the others continue.

import { backoffAfter } from "../../../cloud/error-policies.ts";
import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { priorities, WorkQueue } from "../../../runtime/work-queue.ts";
import { requeue, runWorkers, settled } from "../../../runtime/workers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { hasErrors } from "../desired/member.ts";
import { isManaged } from "../predicates.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ServiceStates } from "../state/service-states.ts";
import { syncFailed } from "../status/events.ts";
import type { EventPublisher } from "../status/publisher.ts";

export interface PlacementDeps {
  readonly controller: Pick<ServiceControllerDeps, "services" | "balancers" | "clock" | "random">;
  readonly groupStates: GroupStates;
  readonly serviceStates: ServiceStates;
  readonly desiredServices: Pick<DesiredServices, "of">;
  readonly publisher: Pick<EventPublisher, "publishOnce">;
  /** The groups to reconcile. */
  readonly queue: WorkQueue;
}

export class Placement {
  readonly #deps: PlacementDeps;
  /** Keys of Services that could not be placed. */
  readonly #unplaced: WorkQueue;

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
    this.#unplaced = new WorkQueue(deps.controller.clock);
  }

  /** A Service has changed: places it, and enqueues its groups first in line. */
  enqueue(key: string): void {
    for (const group of this.place(key)) {
      this.#deps.groupStates.get(group)?.restartPacing();
      this.#deps.queue.add(group, { priority: priorities.urgent });
    }
  }

  /** Returns the groups to reconcile. Never throws: listeners call it. */
  place(key: string): readonly string[] {
    const { controller, groupStates } = this.#deps;
    const service = controller.services.get(key);
    try {
      return this.#placeManaged(key, service);
    } catch {
      this.#unplaced.add(key);
      // It must not take the place of another Service that had its name.
      const isPlaced =
        service === undefined || groupStates.groupOf(serviceUID(service.metadata.uid)) !== undefined;
      return isPlaced ? [] : groupStates.remove(key);
    }
  }

  /** Places a Service that may no longer ask for a load balancer. Throws the provider's error. */
  placeLeftover(key: string, service: Service): readonly string[] {
    const { controller, groupStates, desiredServices } = this.#deps;
    const member = desiredServices.of(service);
    const { uid } = member.desired.owner;
    const named = controller.balancers.groupOf?.(member.desired) ?? uid;
    // An invalid annotation moves no Service: it may be the one that names the group.
    const current = hasErrors(member) ? groupStates.groupOf(uid) : undefined;
    return groupStates.place(key, uid, current ?? named);
  }

  /** The cloud has something of a Service that could not be placed. */
  retryLeftover(key: string, service: Service): void {
    this.#deps.serviceStates.of(service).hasLeftovers = true;
    this.#unplaced.add(key);
  }

  /** Retries the Services that could not be placed, until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    const { controller, queue, publisher } = this.#deps;
    const { services, clock, random } = controller;
    return runWorkers(
      {
        queue: this.#unplaced,
        count: 1,
        reconcile: async (key) => {
          for (const group of this.#retry(key)) queue.add(group);
          return settled;
        },
        onError: (key, error, failures) => {
          const service = services.get(key);
          if (service !== undefined) publisher.publishOnce(service, "failure", [syncFailed(service, error)]);
          return requeue(backoffAfter(error, failures, clock, random), "it cannot be placed");
        },
        clock,
      },
      signal,
    );
  }

  #retry(key: string): readonly string[] {
    const service = this.#deps.controller.services.get(key);
    const state = service && this.#deps.serviceStates.get(serviceUID(service.metadata.uid));
    if (service === undefined || state?.hasLeftovers !== true) return this.#placeManaged(key, service);
    const groups = this.placeLeftover(key, service);
    state.hasLeftovers = false;
    return groups;
  }

  #placeManaged(key: string, service: Service | undefined): readonly string[] {
    return service === undefined || !isManaged(service)
      ? this.#deps.groupStates.remove(key)
      : this.placeLeftover(key, service);
  }
}

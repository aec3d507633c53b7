// Puts each Service into the group that the provider names. A Service that cannot be placed is told so and tried again, and
// the others go on.

import { backoffAfter } from "../../../cloud/error-policies.ts";
import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { WorkQueue } from "../../../runtime/work-queue.ts";
import { requeue, runWorkers, settled } from "../../../runtime/workers.ts";
import type { ServiceDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isWrong } from "../desired/member.ts";
import { concernsUs } from "../predicates.ts";
import type { Groups } from "../state/groups.ts";
import { failureOf } from "../status/event-texts.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";

export function createPlacement(
  { services, balancers, clock, random }: Pick<ServiceDeps, "services" | "balancers" | "clock" | "random">,
  groups: Groups,
  desiredServices: Pick<DesiredServices, "of">,
  reporter: Pick<ServiceReporter, "failure">,
  /** This group has to be looked at. */
  enqueue: (group: string) => void,
) {
  /** Keys of Services that could not be placed. */
  const unplaced = new WorkQueue(clock);
  /** Of those the ones that ask for nothing, while the cloud still has something of them. */
  const withLeftovers = new Set<string>();

  /** Returns the groups that must be looked at; throws what the provider says. */
  const put = (key: string, service: Service): readonly string[] => {
    const member = desiredServices.of(service);
    const { uid } = member.desired.owner;
    const asked = balancers.groupOf?.(member.desired) ?? uid;
    // A wrong annotation moves nobody: what it says of the group may be the wrong part.
    const held = isWrong(member) ? groups.groupOf(key, uid) : undefined;
    return groups.place(key, uid, held ?? asked);
  };

  const placeOrThrow = (key: string, service: Service | undefined): readonly string[] =>
    service === undefined || !concernsUs(service) ? groups.remove(key) : put(key, service);

  return {
    put,

    /** Returns the groups that must be looked at. Called from listeners, so it never throws. */
    place: (key: string, service: Service | undefined): readonly string[] => {
      try {
        return placeOrThrow(key, service);
      } catch {
        unplaced.add(key);
        // Another Service of this name cannot stand where the first one stood.
        const uid = service === undefined ? undefined : serviceUID(service.metadata.uid);
        return uid !== undefined && groups.groupOf(key, uid) === undefined ? groups.remove(key) : [];
      }
    },

    /** The cloud has something of a Service that could not be placed. */
    tryAgain: (key: string): void => {
      withLeftovers.add(key);
      unplaced.add(key);
    },

    /** Tries again what could not be placed, until the signal is aborted. */
    run: (signal: AbortSignal): Promise<void> =>
      runWorkers(
        {
          queue: unplaced,
          count: 1,
          reconcile: async (key) => {
            const service = services.get(key);
            const hasLeftovers = service !== undefined && withLeftovers.has(key);
            for (const group of hasLeftovers ? put(key, service) : placeOrThrow(key, service)) enqueue(group);
            withLeftovers.delete(key);
            return settled;
          },
          onError: (key, error, failures) => {
            const service = services.get(key);
            if (service !== undefined) reporter.failure(service, failureOf(service, error));
            return requeue(backoffAfter(error, failures, clock, random), "it cannot be placed");
          },
          clock,
        },
        signal,
      ),
  };
}

export type Placement = ReturnType<typeof createPlacement>;

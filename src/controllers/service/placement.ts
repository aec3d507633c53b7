// Puts each Service into the group that the provider names, and claims what a listing shows under our mark. It is called
// from listeners, so it never throws: a Service that cannot be placed is told so and tried again, and the others go on.

import { restAfter } from "../../cloud/disposition.ts";
import { type ServiceUID, serviceUID } from "../../core/brand.ts";
import type { Service } from "../../kube/objects.ts";
import { keyOf } from "../../kube/resource-path.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { again, runWorkers, settled } from "../../runtime/workers.ts";
import { failureOf } from "./event-texts.ts";
import type { Groups } from "./groups.ts";
import { isWrong } from "./member.ts";
import type { ServicePorts } from "./ports.ts";
import { isOurs } from "./predicates.ts";
import type { ServiceTeller } from "./service-teller.ts";
import type { Wishes } from "./wishes.ts";

type PlacementPorts = Pick<ServicePorts, "services" | "balancers" | "listing" | "clock" | "random">;

export const createPlacement = (
  { services, balancers, listing, clock, random }: PlacementPorts,
  groups: Groups,
  wishes: Wishes,
  teller: Pick<ServiceTeller, "failure">,
  /** This group has to be looked at. */
  wake: (group: string) => void,
) => {
  /** Keys of Services that could not be placed. */
  const unplaced = new WorkQueue(clock);

  const put = (key: string, service: Service): readonly string[] => {
    const member = wishes.of(service);
    const { uid } = member.wish.owner;
    const asked = balancers.groupOf?.(member.wish) ?? uid;
    // A wrong annotation moves nobody: what it says of the group may be the wrong part.
    const held = isWrong(member) ? groups.groupOf(key, uid) : undefined;
    return groups.place(key, uid, held ?? asked);
  };

  const placeOrThrow = (key: string, service: Service | undefined): readonly string[] => {
    if (service === undefined || !isOurs(service)) return groups.remove(key);
    return put(key, service);
  };

  /** Returns the groups that must be looked at. */
  const place = (key: string, service: Service | undefined): readonly string[] => {
    try {
      return placeOrThrow(key, service);
    } catch {
      unplaced.add(key);
      // Another Service of this name cannot stand where the first one stood.
      const uid = service === undefined ? undefined : serviceUID(service.metadata.uid);
      return uid !== undefined && groups.groupOf(key, uid) === undefined ? groups.remove(key) : [];
    }
  };

  const ours = (): readonly ObservedLoadBalancer[] =>
    (listing.latest?.items ?? []).filter(({ ownership }) => ownership === "ours");

  const isShown = (group: string, uid: ServiceUID): boolean =>
    ours().some((one) => one.group === group && one.owners.includes(uid));

  /** What it says of its group may be the wrong part. */
  const isStuck = (service: Service): boolean => {
    const member = wishes.tryOf(service);
    return member === undefined || isWrong(member);
  };

  /** What one balancer of ours in this group means for one that it serves. */
  const claimOne = (service: Service, uid: ServiceUID, group: string): readonly string[] => {
    const key = keyOf(service.metadata);
    const known = groups.groupOf(key, uid);
    // It asks for nothing and looks settled, but something is left.
    const queued = known === undefined ? put(key, service) : [];
    const now = groups.groupOf(key, uid);
    if (now === undefined || now === group || groups.owes(group, uid)) return queued;
    // It may have moved while nobody looked, or be wrong about where it belongs: then it stays where it is.
    const stays = !isShown(now, uid) && isStuck(service);
    if (stays) return [...queued, ...groups.place(key, uid, group)];
    groups.owe(group, uid);
    return [...queued, group];
  };

  return {
    place,

    /** After a listing: who has something of ours in a group where it does not belong, or asks for nothing, lets go of it. */
    claim: (): void => {
      const items = ours();
      if (items.length === 0) return;
      const byUid = new Map(services.list().map((service) => [serviceUID(service.metadata.uid), service]));
      for (const { group, owners } of items) {
        for (const uid of owners) {
          const service = byUid.get(uid);
          if (service === undefined) continue;
          try {
            for (const each of claimOne(service, uid, group)) wake(each);
          } catch {
            unplaced.add(keyOf(service.metadata));
          }
        }
      }
    },

    /** Whether anything is left, or may be left, of this owner in another group than this. */
    isLeftElsewhere: (uid: ServiceUID, group: string): boolean =>
      groups.owesElsewhere(uid, group) ||
      ours().some((one) => one.group !== group && one.owners.includes(uid)),

    /** By a Service that lives, is not known to have left, and may only be hard to place: nothing of it may go. */
    isStillUsed: (observed: ObservedLoadBalancer | undefined, gone: readonly ServiceUID[]): boolean => {
      const staying = new Set((observed?.owners ?? []).filter((uid) => !gone.includes(uid)));
      return (
        staying.size > 0 && services.list().some(({ metadata }) => staying.has(serviceUID(metadata.uid)))
      );
    },

    /** Tries again what could not be placed, until the signal is aborted. */
    run: (signal: AbortSignal): Promise<void> =>
      runWorkers(
        {
          queue: unplaced,
          count: 1,
          reconcile: async (key) => {
            for (const group of placeOrThrow(key, services.get(key))) wake(group);
            return settled;
          },
          onError: (key, error, failures) => {
            const service = services.get(key);
            if (service !== undefined) teller.failure(service, failureOf(service, error));
            return again(restAfter(error, failures, clock, random), "it cannot be placed");
          },
          clock,
        },
        signal,
      ),
  };
};

export type Placement = ReturnType<typeof createPlacement>;

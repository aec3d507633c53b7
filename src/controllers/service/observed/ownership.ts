// What a listing shows under our mark, held against where Services belong: who has something in a group where it does not
// belong, or asks for nothing any more, lets go of it; and nothing goes that a living Service may still use.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { ServiceDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isWrong } from "../desired/member.ts";
import type { Placement } from "../desired/placement.ts";
import type { Groups } from "../queue/groups.ts";

export function createOwnership(
  { services, listing }: Pick<ServiceDeps, "services" | "listing">,
  groups: Groups,
  desiredServices: Pick<DesiredServices, "tryOf">,
  placement: Pick<Placement, "put" | "tryAgain">,
  /** This group has to be looked at. */
  enqueue: (group: string) => void,
) {
  const ours = (): readonly ObservedLoadBalancer[] =>
    (listing.latest?.items ?? []).filter(({ ownership }) => ownership === "ours");

  const isShown = (group: string, uid: ServiceUID): boolean =>
    ours().some((one) => one.group === group && one.owners.includes(uid));

  const isStuck = (service: Service): boolean => {
    const member = desiredServices.tryOf(service);
    return member === undefined || isWrong(member);
  };

  /** What one balancer of ours in this group means for one that it serves. */
  const claimOne = (service: Service, uid: ServiceUID, group: string): readonly string[] => {
    const key = keyOf(service.metadata);
    const known = groups.groupOf(key, uid);
    // It asks for nothing and looks settled, but something is left.
    const queued = known === undefined ? placement.put(key, service) : [];
    const now = groups.groupOf(key, uid);
    if (now === undefined || now === group || groups.owes(group, uid)) return queued;
    // It may have moved while nobody looked, or be wrong about where it belongs: then it stays where it is.
    const stays = !isShown(now, uid) && isStuck(service);
    if (stays) return [...queued, ...groups.place(key, uid, group)];
    groups.owe(group, uid);
    return [...queued, group];
  };

  return {
    /** After a listing. Called from listeners, so it never throws. */
    claim: (): void => {
      const items = ours();
      if (items.length === 0) return;
      const byUid = new Map(services.list().map((service) => [serviceUID(service.metadata.uid), service]));
      for (const { group, owners } of items) {
        for (const uid of owners) {
          const service = byUid.get(uid);
          if (service === undefined) continue;
          try {
            for (const each of claimOne(service, uid, group)) enqueue(each);
          } catch {
            placement.tryAgain(keyOf(service.metadata));
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
  };
}

export type Ownership = ReturnType<typeof createOwnership>;

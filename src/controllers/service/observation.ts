// What the cloud has for a group, from the one listing that all groups share, if it is new enough to be planned on. Who
// needs a newer one asks and is woken by it; nobody waits here.

import type { Service } from "../../kube/objects.ts";
import type { Call } from "../../provider/call.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { type Outcome, waiting } from "../../runtime/workers.ts";
import type { ServicePorts } from "./ports.ts";
import type { ServiceSettings } from "./settings.ts";
import type { Member, Wishes } from "./wishes.ts";

type ObservationPorts = Pick<ServicePorts, "listing" | "balancers" | "clock"> & {
  readonly settings: Pick<ServiceSettings, "acceptsAge">;
};

export const createObservation = (
  { listing, balancers, clock, settings }: ObservationPorts,
  wishes: Wishes,
) => {
  const askedSince = new Map<string, number>();
  /** When we last changed something for a group: only what was listed after it counts. */
  const changedAt = new Map<string, number>();

  /** Where nothing of ours is there yet, somebody may have asked for something that is. Two such are no choice of ours. */
  const adopted = (
    services: readonly Service[],
    items: readonly ObservedLoadBalancer[],
  ): ObservedLoadBalancer | undefined => {
    const { adopts } = balancers;
    if (adopts === undefined) return undefined;
    const hits = items.filter(
      (one) =>
        one.ownership === "unmarked" &&
        services.some((service) => adopts.call(balancers, wishes.of(service).wish, one)),
    );
    return hits.length === 1 ? hits[0] : undefined;
  };

  return {
    asking: (): Iterable<string> => askedSince.keys(),
    changed: (group: string): void => void changedAt.set(group, clock.monotonic()),
    forget: (group: string): void => void changedAt.delete(group),
    stopAsking: (group: string): void => void askedSince.delete(group),

    /** What the last listing says of this group. */
    listed: (group: string, services: readonly Service[]): ObservedLoadBalancer | undefined | "not yet" => {
      const { latest } = listing;
      const oldest = clock.monotonic() - settings.acceptsAge;
      const needed = Math.max(changedAt.get(group) ?? Number.NEGATIVE_INFINITY, oldest);
      if (latest === undefined || latest.beganAt < needed) return "not yet";
      askedSince.delete(group);
      const ours = latest.items.find((one) => one.group === group && one.ownership === "ours");
      return ours ?? adopted(services, latest.items);
    },

    /** What a listing does not tell, where the cloud can be asked about one group. */
    inDepth: async (
      members: readonly Member[],
      listed: ObservedLoadBalancer | undefined,
      call: Call,
    ): Promise<ObservedLoadBalancer | undefined> => {
      const isEnough = listed !== undefined && listed.shallow !== true;
      if (balancers.observe === undefined || isEnough) return listed;
      return balancers.observe(
        members.map(({ wish }) => wish),
        listed,
        call,
      );
    },

    /** Asks for a newer listing, unless one is under way; throws what went wrong with it. */
    ask: (group: string): Outcome => {
      const since = askedSince.get(group);
      if (since === undefined) {
        const now = clock.monotonic();
        askedSince.set(group, now);
        listing.want(now, "user-change");
        return waiting;
      }
      if (listing.failure === undefined || listing.failure.at < since) return waiting;
      askedSince.delete(group);
      throw listing.failure.error;
    },
  };
};

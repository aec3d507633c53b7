// What the cloud has for a group, from the one listing that all groups share, if it is new enough to be planned on. Who
// needs a newer one asks and is woken by it; nobody waits here.

import type { Problem } from "../../core/problem.ts";
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

export interface Listed {
  readonly balancer: ObservedLoadBalancer | undefined;
  /** Two answers to which one is to be adopted are a problem, not a choice of ours. */
  readonly problems: readonly Problem[];
}

const nothing: Listed = { balancer: undefined, problems: [] };

export const createObservation = (
  { listing, balancers, clock, settings }: ObservationPorts,
  wishes: Wishes,
  /** All Services that ask for a balancer. */
  everyone: () => readonly Service[],
) => {
  /** Another replica may have led until then. */
  let began = Number.NEGATIVE_INFINITY;
  const askedSince = new Map<string, number>();
  /** When we last changed something for a group: only what was listed after it counts. */
  const changedAt = new Map<string, number>();

  /** Where nothing of ours is there yet, somebody may have asked for something that is. */
  const adopted = (members: readonly Service[], items: readonly ObservedLoadBalancer[]): Listed => {
    const { adopts } = balancers;
    if (adopts === undefined) return nothing;
    const asks = (service: Service, one: ObservedLoadBalancer): boolean => {
      const { wish } = wishes.of(service);
      return wish.ending === undefined && adopts.call(balancers, wish, one);
    };
    const unmarked = items.filter(({ ownership }) => ownership === "unmarked");
    const hits = unmarked.filter((one) => members.some((service) => asks(service, one)));
    const [hit] = hits;
    if (hit === undefined) return nothing;
    const isRival = (one: Service): boolean => {
      try {
        return !members.includes(one) && hits.some((hit) => asks(one, hit));
      } catch {
        // Who cannot be understood asks for nothing, and keeps nobody else waiting.
        return false;
      }
    };
    const rivals = everyone().filter(isRival);
    if (hits.length === 1 && rivals.length === 0) return { balancer: hit, problems: [] };
    const names = rivals.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(", ");
    const text =
      rivals.length === 0
        ? `${hits.length} load balancers fit what is to be adopted (${hits.map(({ group }) => group).join(", ")}); say more exactly which one is meant.`
        : `The load balancer that is to be adopted is asked for by ${names} too; only one Service can have it.`;
    return { balancer: undefined, problems: [{ severity: "error", reason: "AmbiguousAdoption", text }] };
  };

  return {
    /** What was listed before counts no more. */
    begin: (): void => {
      began = clock.monotonic();
      askedSince.clear();
    },
    asking: (): Iterable<string> => askedSince.keys(),
    changed: (group: string): void => void changedAt.set(group, clock.monotonic()),
    forget: (group: string): void => void changedAt.delete(group),
    stopAsking: (group: string): void => void askedSince.delete(group),

    /** What the last listing says of this group. */
    listed: (group: string, services: readonly Service[]): Listed | "not yet" => {
      const { latest } = listing;
      // The answer to a question is new enough, however long it took to come and to be read.
      const asked = askedSince.get(group) ?? Number.POSITIVE_INFINITY;
      const oldest = Math.min(asked, clock.monotonic() - settings.acceptsAge);
      if (latest === undefined || latest.beganAt < Math.max(began, oldest)) return "not yet";
      // At the same moment is not after it.
      if (latest.beganAt <= (changedAt.get(group) ?? Number.NEGATIVE_INFINITY)) return "not yet";
      askedSince.delete(group);
      const ours = latest.items.find((one) => one.group === group && one.ownership === "ours");
      return ours === undefined ? adopted(services, latest.items) : { balancer: ours, problems: [] };
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
      const asked = askedSince.get(group);
      // An answer that came and was not enough is no answer: whoever waited on would wait for ever.
      const isAnswered =
        asked !== undefined && (listing.latest?.beganAt ?? Number.NEGATIVE_INFINITY) >= asked;
      const since = isAnswered ? undefined : asked;
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

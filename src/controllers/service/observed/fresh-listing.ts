// What the one listing that all groups share says of a group, if it is new enough to be planned on. Who needs a newer one
// asks and is woken by it; nobody waits here.

import type { Service } from "../../../kube/objects.ts";
import { type Outcome, waiting } from "../../../runtime/workers.ts";
import type { ServiceControllerOptions } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { concernsUs } from "../predicates.ts";
import { type Adoption, adoptionOf } from "./adoption.ts";

type FreshListingOptions = Pick<ServiceControllerOptions, "listing" | "balancers" | "clock" | "services"> & {
  readonly settings: Pick<ServiceControllerOptions["settings"], "acceptsAge">;
};

export function createFreshListing(
  { listing, balancers, clock, settings, services }: FreshListingOptions,
  desiredServices: Pick<DesiredServices, "of">,
) {
  /** Another replica may have led until then. */
  let began = Number.NEGATIVE_INFINITY;
  const askedSince = new Map<string, number>();
  /** When we last changed something for a group: only what was listed after it counts. */
  const changedAt = new Map<string, number>();
  const { adopts } = balancers;

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

    /** The balancer of this group; where there is none, the one that these Services ask to adopt. */
    find: (group: string, members: readonly Service[]): Adoption | "not yet" => {
      const { latest } = listing;
      // The answer to a question is new enough, however long it took to come and to be read.
      const asked = askedSince.get(group) ?? Number.POSITIVE_INFINITY;
      const oldest = Math.min(asked, clock.monotonic() - settings.acceptsAge);
      if (latest === undefined || latest.beganAt < Math.max(began, oldest)) return "not yet";
      // At the same moment is not after it.
      if (latest.beganAt <= (changedAt.get(group) ?? Number.NEGATIVE_INFINITY)) return "not yet";
      askedSince.delete(group);
      const ours = latest.items.find((one) => one.group === group && one.ownership === "ours");
      if (ours !== undefined || adopts === undefined) return { balancer: ours, problems: [] };
      return adoptionOf(
        members,
        () => services.list().filter(concernsUs),
        latest.items,
        (service, one) => {
          const { desired } = desiredServices.of(service);
          return desired.ending === undefined && adopts.call(balancers, desired, one);
        },
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
}

export type FreshListing = ReturnType<typeof createFreshListing>;

// What an error of a round leads to: it is shown and told on the Services whose business it is, and the group rests. A lost
// race is nobody's business.

import { backoffAfter, isFenced } from "../../../cloud/error-policies.ts";
import type { Service } from "../../../kube/objects.ts";
import { type Outcome, requeue } from "../../../runtime/workers.ts";
import { delayAfterError, isLostRace } from "../../errors.ts";
import { isEnding } from "../predicates.ts";
import { failureOf, updateFailureOf } from "../status/event-texts.ts";
import type { RoundParts } from "./context.ts";

export function createFailure({
  ports: { services, listing, clock, random },
  groups,
  desiredServices,
  freshListing,
  progress,
  reporter,
  conditions,
}: Pick<
  RoundParts,
  "ports" | "groups" | "desiredServices" | "freshListing" | "progress" | "reporter" | "conditions"
>) {
  const membersOf = (group: string) => groups.membersOf(group).flatMap((key) => services.get(key) ?? []);
  const isOfListing = (error: unknown): boolean => error === listing.failure?.error;

  const hostsOf = (service: Service): readonly string[] =>
    (desiredServices.tryOf(service)?.desired.targets ?? []).map(({ node }) => node);

  return {
    /** As a condition. A listing that failed is nobody's business who has what was asked for. */
    show: (group: string, error: unknown, signal: AbortSignal): Promise<void> => {
      const concerned = membersOf(group).filter((service) => {
        const hasAddress = (service.status.loadBalancer?.ingress ?? []).length > 0;
        return !(isOfListing(error) && hasAddress && !isEnding(service));
      });
      const members = concerned.map((service) => ({
        service,
        problems: desiredServices.problemsOf(service),
      }));
      return conditions.failed(group, error, members, signal);
    },

    /** As an event, and for how long the group rests. */
    onError: (group: string, error: unknown, failures: number): Outcome => {
      freshListing.stopAsking(group);
      const broken = progress.takeBroken(group);
      if (isLostRace(error)) return requeue(delayAfterError(error, failures, { clock, random }), "LostRace");
      if (!isFenced(error)) {
        const isUpdate = failures === 1 && broken === "update";
        for (const service of membersOf(group)) {
          const isOfHosts = isUpdate && !isEnding(service);
          reporter.failure(
            service,
            isOfHosts ? updateFailureOf(hostsOf(service), error) : failureOf(service, error),
          );
        }
      }
      const rest = backoffAfter(error, failures, clock, random);
      // A listing that works is news for everybody; what this group was refused is not mended by it.
      if (!isOfListing(error)) progress.rest(group, rest);
      return requeue(rest, "an error");
    },
  };
}

export type Failure = ReturnType<typeof createFailure>;

// What is said on Services that wait for work of the cloud while nobody can ask what has become of it: a condition and an
// event as for any other error, which go when it can be asked again. It asks nothing itself.

import type { Service } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import { describeError } from "../../describe-error.ts";
import { failureOf } from "./event-texts.ts";
import type { RoundParts } from "../reconcile/reconcile-deps.ts";

export const createTicketTrouble = ({
  ports: { writes },
  teller,
  conditions,
  wishes,
}: Pick<RoundParts, "ports" | "teller" | "conditions" | "wishes">) => {
  /** Groups on whose Services it stands. */
  const told = new Set<string>();

  return {
    /** While work of this group is under way; `trouble` is why it cannot be asked about, if so. */
    show: async (
      group: string,
      services: readonly Service[],
      trouble: unknown,
      signal: AbortSignal,
    ): Promise<void> => {
      const problem = describeError(trouble);
      if (trouble !== undefined && problem !== undefined) {
        told.add(group);
        for (const service of services) {
          teller.failure(service, failureOf(service, trouble));
          await conditions.show(service, [...wishes.problemsOf(service), problem], signal);
        }
        return;
      }
      if (!told.delete(group)) return;
      for (const service of services) {
        teller.recovered(service);
        const kept = conditions.atRest(service, wishes.problemsOf(service), false);
        const patch = kept && serviceStatusPatch({ service, conditions: kept });
        if (patch !== undefined) await writes.patch(service, patch, "the cloud answers again", signal);
      }
    },
    forget: (group: string): void => void told.delete(group),
  };
};

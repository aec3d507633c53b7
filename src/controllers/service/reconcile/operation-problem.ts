// What is said on Services that wait for work of the cloud while nobody can ask what has become of it: a condition and an
// event as for any other error, which go when it can be asked again. It asks nothing itself.

import type { Service } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import { describeError } from "../../errors.ts";
import { failureOf } from "../status/event-texts.ts";
import type { RoundParts } from "./context.ts";

export function createOperationProblem({
  ports: { writes },
  reporter,
  conditions,
  desiredServices,
}: Pick<RoundParts, "ports" | "reporter" | "conditions" | "desiredServices">) {
  /** Groups on whose Services it stands. */
  const reported = new Set<string>();

  return {
    /** While work of this group is under way; `trouble` is why it cannot be asked about, if so. */
    show: async (
      group: string,
      services: readonly Service[],
      failure: unknown,
      signal: AbortSignal,
    ): Promise<void> => {
      const problem = describeError(failure);
      if (failure !== undefined && problem !== undefined) {
        reported.add(group);
        for (const service of services) {
          reporter.failure(service, failureOf(service, failure));
          await conditions.show(service, [...desiredServices.problemsOf(service), problem], signal);
        }
        return;
      }
      if (!reported.delete(group)) return;
      for (const service of services) {
        reporter.recovered(service);
        const kept = conditions.atRest(service, desiredServices.problemsOf(service), false);
        const patch = kept && serviceStatusPatch({ service, conditions: kept });
        if (patch !== undefined) await writes.patch(service, patch, "the cloud answers again", signal);
      }
    },
    forget: (group: string): void => void reported.delete(group),
  };
}

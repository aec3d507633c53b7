// Writes what a step brought to light onto the Services it is about: what was made must be found again by whoever comes
// after us.

import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { StepOutcome } from "../../../provider/plan.ts";
import type { ServiceDeps } from "../deps.ts";
import { factsPatch } from "../desired/facts.ts";

/** Returns the Services as they are then. */
export function createRememberFacts({ writes, facts }: Pick<ServiceDeps, "writes" | "facts">) {
  return (
    services: readonly Service[],
    { remember }: Extract<StepOutcome, { done: true }>,
    signal: AbortSignal,
  ): Promise<readonly Service[]> =>
    Promise.all(
      services.map(async (service) => {
        const news = remember?.get(serviceUID(service.metadata.uid));
        const patch = news === undefined ? undefined : factsPatch(service, facts, news);
        if (patch === undefined) return service;
        return (await writes.patch(service, patch, "what was made must be found again", signal)) ?? service;
      }),
    );
}

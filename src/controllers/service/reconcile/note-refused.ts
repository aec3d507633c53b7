// Records the targets that the cloud refuses on the Services whose targets they are.

import { serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { RefusedTarget } from "../../../provider/plan.ts";
import type { ReconcileDeps } from "./context.ts";

/** Returns whether the desired targets have changed because of it. */
export function noteRefused(
  { controller: { clock }, desiredServices, serviceStates }: ReconcileDeps,
  services: readonly Service[],
  refused: readonly RefusedTarget[] = [],
): boolean {
  let isNews = false;
  for (const { node, text, owner, retryAfter } of refused) {
    const target = desiredServices.candidate(node);
    if (target === undefined) continue;
    for (const service of services) {
      if (owner !== undefined && owner !== serviceUID(service.metadata.uid)) continue;
      const state = serviceStates.of(service);
      const at = clock.monotonic();
      // Several steps of one plan may report the same target.
      if (state.refused.isWithheld(target, at)) continue;
      serviceStates.commit(state, { kind: "targetRefused", target, text, at, retryAfter });
      isNews = true;
    }
  }
  return isNews;
}

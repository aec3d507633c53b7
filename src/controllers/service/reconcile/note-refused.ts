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
      const { refused: known } = serviceStates.of(service);
      if (known.note(target, text, clock.monotonic(), retryAfter)) isNews = true;
    }
  }
  return isNews;
}

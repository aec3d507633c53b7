// The mass limit protects the cluster from a cloud that wrongly reports instances as gone: when more Nodes are affected than
// were announced, none is deleted. Unannounced deletions count together with Nodes that are about to be deleted.

import type { NodeEvent } from "../node-deps.ts";
import { allowedRemovals } from "../removal-limit.ts";
import { type MassDeletion, massDeletionHeld } from "./events.ts";
import type { LifecycleSettings } from "./settings.ts";

export type MassDecision =
  | { readonly mayDelete: true }
  | { readonly mayDelete: false; readonly event: NodeEvent };

export function massLimit(
  counts: MassDeletion,
  limit: LifecycleSettings["removalLimit"],
  howToRelease: string,
): MassDecision {
  if (limit === "off") return { mayDelete: true };
  const allowed = allowedRemovals(limit, counts.managed);
  if (counts.recent + counts.candidates <= allowed) return { mayDelete: true };
  return { mayDelete: false, event: massDeletionHeld(counts, allowed, howToRelease) };
}

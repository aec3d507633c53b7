// The mass limit protects the cluster from a cloud that wrongly reports instances as gone: when more Nodes are affected than
// were announced, none is deleted. Unannounced deletions count together with Nodes that are about to be deleted.

import type { NodeEvent } from "../node-deps.ts";
import { decideHold } from "../removal-limit.ts";
import { type MassDeletion, massDeletionHeld } from "./events.ts";
import type { LifecycleSettings } from "./settings.ts";

export type MassDecision =
  | {
      readonly mayDelete: true;
      /** When the last hold ended, monotonic. Proofs from before may be from the fault that it was for. */
      readonly heldUntil?: number | undefined;
    }
  | {
      readonly mayDelete: false;
      readonly event: NodeEvent;
      /** How many Nodes there were when the hold began; undefined if no Node is held. */
      readonly totalAtStart: number | undefined;
    };

export function massLimit(
  counts: MassDeletion,
  limit: LifecycleSettings["removalLimit"],
  howToRelease: string,
  /** That of the last decision. */
  before?: number,
): MassDecision {
  const { recent, candidates: affected, managed: total } = counts;
  const { isHeld, allowed, totalAtStart } = decideHold({ recent, affected, total }, limit, before);
  if (!isHeld) return { mayDelete: true };
  return { mayDelete: false, event: massDeletionHeld(counts, allowed, howToRelease), totalAtStart };
}

// The mass limit protects the cluster from a cloud that wrongly reports instances as gone: when more Nodes are affected than
// were announced, none is deleted. Unannounced deletions count together with Nodes that are about to be deleted.

import type { NodeEvent } from "../node-deps.ts";
import { removalWindow } from "../removal-history.ts";
import { allowedRemovals } from "../removal-limit.ts";
import { type MassDeletion, massDeletionHeld } from "./events.ts";
import type { LifecycleSettings } from "./settings.ts";

export type MassDecision =
  | { readonly mayDelete: true }
  | { readonly mayDelete: false; readonly event: NodeEvent };

export function massLimit(counts: MassDeletion, limit: LifecycleSettings["massLimit"]): MassDecision {
  if (limit === "off") return { mayDelete: true };
  const allowed = allowedRemovals(limit, counts.managed);
  if (counts.recent + counts.candidates <= allowed) return { mayDelete: true };
  return { mayDelete: false, event: massDeletionHeld(counts, allowed, removalWindow / 60_000) };
}

/** Remembers when Nodes were deleted unannounced, by Fairlead or anyone else. */
export class RecentDeletions {
  /** When each Node was deleted, by uid, oldest first. */
  readonly #known = new Map<string, number>();

  /** Deletions by Fairlead are reported twice, after the request and by the watch, and either may be missed. */
  add(now: number, uid: string): void {
    if (!this.#known.has(uid)) this.#known.set(uid, now);
  }

  within(window: number, now: number): number {
    for (const [uid, at] of this.#known) {
      if (at >= now - window) break;
      this.#known.delete(uid);
    }
    return this.#known.size;
  }
}

// Keeps a lying cloud from taking the cluster down: when more Nodes look gone than anybody announced, none is deleted.
// It counts unannounced deletions and everything that is on the way to one.

import type { LifecycleSettings } from "./settings.ts";

export interface MassLimitState {
  /** Unannounced deletions inside the window. */
  readonly recent: number;
  /** Unannounced Nodes whose machine at least one proof calls gone, or the inventory does not show: Ready ones count too. */
  readonly candidates: number;
  readonly managed: number;
}

export type MassDecision =
  | { readonly mayDelete: true }
  | { readonly mayDelete: false; readonly text: string };

export function massLimit(state: MassLimitState, limit: LifecycleSettings["massLimit"]): MassDecision {
  if (limit === "off") return { mayDelete: true };
  const allowed = Math.max(limit.atLeast, Math.floor(state.managed * limit.share));
  if (state.recent + state.candidates <= allowed) return { mayDelete: true };
  return {
    mayDelete: false,
    text: `${state.candidates} of ${state.managed} nodes look gone at once and ${state.recent} were deleted in the last ${limit.window / 60_000} minutes; more than ${allowed} is taken for a fault of the cloud, so none is deleted. If they are gone, annotate them with fairlead.dev/node-deletion=confirmed.`,
  };
}

/** Remembers when unannounced deletions happened, whoever made them, as long as they count. */
export class RecentDeletions {
  #known: { readonly at: number; readonly uid: string | undefined }[] = [];

  /** Our own come twice, from the answer and from the watch, and either may be lost. */
  add(now: number, uid?: string): void {
    const isKnown = uid !== undefined && this.#known.some((each) => each.uid === uid);
    if (!isKnown) this.#known.push({ at: now, uid });
  }

  within(window: number, now: number): number {
    this.#known = this.#known.filter(({ at }) => at >= now - window);
    return this.#known.length;
  }
}

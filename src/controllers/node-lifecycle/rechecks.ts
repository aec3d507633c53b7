// When a Node is looked at again whose machine exists or whose deletion is held: at a pace that its cloud can bear, and at
// the same moments for all Nodes of one pace, so that one answer serves them all.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { untilNext } from "../../runtime/backoff.ts";
import type { Candidates } from "./candidates.ts";
import type { LifecycleSettings } from "./settings.ts";

/** `requests`: what one look costs. */
function paceOf(requests: number, { shortest, longest }: LifecycleSettings["recheck"]): Milliseconds {
  return milliseconds(Math.min(longest, Math.max(shortest, requests * seconds(15))));
}

export function createRechecks(
  { settings, clock }: { readonly settings: LifecycleSettings; readonly clock: Clock },
  candidates: Candidates,
) {
  return {
    isDue: (name: string): boolean =>
      clock.monotonic() >= (candidates.all.get(name)?.nextCheck ?? Number.POSITIVE_INFINITY),

    /** How long it rests until the next look; that stays as it was planned before until it is due. */
    rest: (name: string, requests: () => number): Milliseconds => {
      const now = clock.monotonic();
      const planned = candidates.all.get(name)?.nextCheck;
      const isAhead = planned !== undefined && planned > now;
      const nextCheck = isAhead ? planned : now + untilNext(now, paceOf(requests(), settings.recheck));
      candidates.update(name, { nextCheck });
      return milliseconds(nextCheck - now);
    },
  };
}

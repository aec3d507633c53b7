// How long until everything is listed again: exact when the operator gave a frequency, otherwise five minutes that
// stretch towards thirty while nothing changes. Pure.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";

export interface RefreshPolicy {
  /** `--node-status-update-frequency`, when it was given. */
  readonly fixed?: Milliseconds;
}

const shortest = minutes(5);
const longest = minutes(30);
/** Calls per hour that refreshes may cost while nothing changes, up to as many pages as fit into the longest interval. */
const callsPerHour = 60;

export function refreshInterval(
  policy: RefreshPolicy,
  last: { readonly interval: Milliseconds | undefined; readonly hasChanged: boolean; readonly pages: number },
): Milliseconds {
  if (policy.fixed !== undefined) return policy.fixed;
  if (last.interval === undefined || last.hasChanged) return shortest;
  const affordable = (last.pages * 3_600_000) / callsPerHour;
  return milliseconds(Math.min(longest, Math.max(last.interval * 1.5, Math.min(affordable, longest))));
}

// The interval between full listings: fixed when the operator sets one, otherwise 5 minutes that grow to 30 while nothing
// changes. Pure.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";

export interface RefreshPolicy {
  /** `--node-status-update-frequency`, if set. */
  readonly fixed?: Milliseconds;
}

const minInterval = minutes(5);
const maxInterval = minutes(30);
/** Requests per hour that refreshes may use while nothing changes, as long as the longest interval allows. */
const callsPerHour = 60;

export function refreshInterval(
  policy: RefreshPolicy,
  last: { readonly interval: Milliseconds | undefined; readonly hasChanged: boolean; readonly pages: number },
): Milliseconds {
  if (policy.fixed !== undefined) return policy.fixed;
  if (last.interval === undefined || last.hasChanged) return minInterval;
  const affordable = (last.pages * 3_600_000) / callsPerHour;
  return milliseconds(
    Math.min(maxInterval, Math.max(last.interval * 1.5, Math.min(affordable, maxInterval))),
  );
}

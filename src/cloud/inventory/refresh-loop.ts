// Lists all machines at start and then periodically, less often while nothing changes. The inventory notifies its
// subscribers. If no machines are needed, only waits for the end.

import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Inventory } from "./instances.ts";

/** Whether every source has answered or failed since then. */
function hasResult({ sources }: Inventory, since: number): boolean {
  return sources.every(
    ({ latest, failure }) => (latest?.beganAt ?? -1) >= since || (failure?.at ?? -1) >= since,
  );
}

function waitForResult(inventory: Inventory, since: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const stop = inventory.subscribe(() => {
      if (hasResult(inventory, since)) end();
    });
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted || hasResult(inventory, since)) end();
  });
}

export async function runRefreshLoop(
  {
    inventory,
    clock,
    policy,
  }: { readonly inventory: Inventory; readonly clock: Clock; readonly policy: RefreshPolicy },
  signal: AbortSignal,
): Promise<void> {
  let interval: Milliseconds | undefined;
  let previous: readonly unknown[] = [];
  while (!signal.aborted) {
    const since = clock.monotonic();
    inventory.requestListing(since, "refresh");
    await waitForResult(inventory, since, signal);
    const listings = inventory.sources.flatMap(({ latest }) => latest ?? []);
    // The inventory returns the same array when nothing has changed.
    const current = listings.map(({ items }) => items);
    interval = refreshInterval(policy, {
      interval,
      hasChanged:
        current.length !== previous.length || current.some((items, index) => items !== previous[index]),
      pages: listings.reduce((sum, { pages }) => sum + pages, 0),
    });
    previous = current;
    await sleep(clock, interval, signal).catch(() => undefined);
  }
}

export interface RefreshPolicy {
  /** `--node-status-update-frequency`, if set. */
  readonly fixed?: Milliseconds;
}

const minInterval = minutes(5);
const maxInterval = minutes(30);
/** Requests per hour that refreshes may use while nothing changes, within the longest interval. */
const callsPerHour = 60;

/**
 * The interval between full listings: fixed if the operator sets it, otherwise 5 minutes, which grows to 30 while
 * nothing changes.
 */
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

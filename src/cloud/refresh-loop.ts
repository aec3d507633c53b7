// Lists everything at the start and then from time to time, at a pace that stretches while nothing changes. What comes of
// it is told by the inventory to those who subscribed.

import type { Milliseconds } from "../core/brand.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Inventory } from "./inventory.ts";
import { type RefreshPolicy, refreshInterval } from "./refresh-interval.ts";

/** Every source has answered, or failed to, since then. */
function hasAnswered({ sources }: Inventory, since: number): boolean {
  return sources.every(
    ({ latest, failure }) => (latest?.beganAt ?? -1) >= since || (failure?.at ?? -1) >= since,
  );
}

function answered(inventory: Inventory, since: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const stop = inventory.subscribe(() => {
      if (hasAnswered(inventory, since)) end();
    });
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted || hasAnswered(inventory, since)) end();
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
  let before: readonly unknown[] = [];
  while (!signal.aborted) {
    const since = clock.monotonic();
    inventory.wantListing(since, "refresh");
    await answered(inventory, since, signal);
    const listings = inventory.sources.flatMap(({ latest }) => latest ?? []);
    // A listing in which nothing has changed is the very list of before.
    const now = listings.map(({ items }) => items);
    interval = refreshInterval(policy, {
      interval,
      hasChanged: now.length !== before.length || now.some((items, index) => items !== before[index]),
      pages: listings.reduce((sum, { pages }) => sum + pages, 0),
    });
    before = now;
    await sleep(clock, interval, signal).catch(() => undefined);
  }
}

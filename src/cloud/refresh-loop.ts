// Lists everything at the start and then from time to time, at a pace that stretches while nothing changes. What comes of
// it is told by the inventory to those who subscribed.

import type { Milliseconds } from "../core/brand.ts";
import type { Instance } from "../provider/instances.ts";
import { type Clock, sleep } from "../seams/clock.ts";
import type { Inventory } from "./inventory.ts";
import { type RefreshPolicy, refreshInterval } from "./refresh-interval.ts";

/** Everything that could change a Node, in a text that is equal when nothing did. */
const fingerprint = (instances: readonly Instance[]): string =>
  instances
    .map((instance) => JSON.stringify(instance))
    .sort()
    .join("\n");

export const runRefreshLoop = async (
  {
    inventory,
    clock,
    policy,
  }: { readonly inventory: Inventory; readonly clock: Clock; readonly policy: RefreshPolicy },
  signal: AbortSignal,
): Promise<void> => {
  let interval: Milliseconds | undefined;
  let before: string | undefined;
  while (!signal.aborted) {
    inventory.wantListing(clock.monotonic(), "refresh");
    const listings = inventory.sources.flatMap(({ latest }) => latest ?? []);
    const now = listings.map(({ items }) => Bun.hash(fingerprint(items))).join(" ");
    interval = refreshInterval(policy, {
      interval,
      hasChanged: before !== undefined && before !== now,
      pages: listings.reduce((sum, { pages }) => sum + pages, 0),
    });
    before = listings.length === 0 ? undefined : now;
    await sleep(clock, interval, signal).catch(() => undefined);
  }
};

// Checks that run next to the service controller: a regular listing that finds drift, and a warning about orphaned load
// balancers.

import type { PartListings } from "../../cloud/part-listings.ts";
import { milliseconds, minutes } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Log } from "../../telemetry/log.ts";

const checkInterval = minutes(20);

/** Requests a listing regularly, so that changes made in the cloud are found. */
export async function checkForDrift(
  listing: Pick<PartListings<unknown>, "request">,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    listing.request(clock.monotonic(), "refresh");
    // Jitter, so that replicas that started together do not list together.
    const pause = milliseconds(checkInterval * (1 + random.fraction() / 2));
    await sleep(clock, pause, signal).catch(() => undefined);
  }
}

/** Logs each set of orphans once, after the listing that shows it. Returns how to unsubscribe. */
export function reportOrphans(
  listing: Pick<PartListings<unknown>, "subscribe">,
  orphans: () => readonly { readonly group: string; readonly name?: string | undefined }[],
  log: Log,
): () => void {
  let reported = "";
  return listing.subscribe(() => {
    const groups = orphans()
      .map(({ group, name }) => (name === undefined ? group : `${group} (${name})`))
      .toSorted();
    const text = groups.join(", ");
    if (text !== reported && text !== "") {
      log.warn("Orphaned load balancers: they have this cluster's mark, and no Service needs them", {
        count: groups.length,
        groups: text,
      });
    }
    reported = text;
  });
}

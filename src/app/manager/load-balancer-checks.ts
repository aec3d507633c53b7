// What goes on beside the service controller, with the listing that it works from: a look now and then at what somebody
// changed by hand, and a word about balancers that nobody asks for.

import type { SharedListing } from "../../cloud/shared-listing.ts";
import { milliseconds, minutes } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Log } from "../../telemetry/log.ts";

const checkEvery = minutes(20);

/** One listing now and then: what somebody changed by hand is seen, at the cost of its pages. */
export async function checkForDrift(
  listing: Pick<SharedListing<unknown>, "want">,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    listing.want(clock.monotonic(), "refresh");
    // Replicas that began together need not ask together.
    const pause = milliseconds(checkEvery * (1 + random.fraction() / 2));
    await sleep(clock, pause, signal).catch(() => undefined);
  }
}

/** Each set of orphans once, after the listing that shows it. Gives back what ends it. */
export function reportOrphans(
  listing: Pick<SharedListing<unknown>, "subscribe">,
  orphans: () => readonly { readonly group: string }[],
  log: Log,
): () => void {
  let reported = "";
  return listing.subscribe(() => {
    const groups = orphans().map(({ group }) => group);
    const text = groups.toSorted().join(", ");
    if (text !== reported && text !== "") {
      log.warn("Load balancers with our mark that no Service asks for", {
        count: groups.length,
        groups: text,
      });
    }
    reported = text;
  });
}

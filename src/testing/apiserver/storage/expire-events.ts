// Events are kept for an hour, as by a real server. They are swept after writes instead of by a timer, so that an idle sandbox has none.

import type { Clock } from "../../../platform/clock.ts";
import { resourceNamed } from "../objects/resource-table.ts";
import type { Store } from "./store.ts";

const keptFor = 3_600_000;
const sweepEvery = 256;

/** Call it after each Event that was created; it looks only now and then. */
export function eventSweeper(store: Store, clock: Clock): () => void {
  const events = resourceNamed("events");
  let created = 0;
  return () => {
    created++;
    if (created % sweepEvery !== 0) return;
    const limit = clock.now() - keptFor;
    for (const event of [...store.list("events")]) {
      const touched = event["lastTimestamp"] ?? event.metadata.creationTimestamp;
      if (Date.parse(String(touched)) < limit && Date.parse(event.metadata.creationTimestamp) < limit) {
        store.remove(events, event);
      }
    }
  };
}

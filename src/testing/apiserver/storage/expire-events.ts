// Deletes Events that are older than an hour, as a real server does. It runs after writes instead of on a timer, so that an
// idle server has no timers.

import type { Clock } from "../../../platform/clock.ts";
import { resourceNamed } from "../objects/resource-table.ts";
import type { Store } from "./store.ts";

const maxAge = 3_600_000;
const createsPerSweep = 256;

export class EventExpiry {
  readonly #store: Store;
  readonly #clock: Clock;
  #created = 0;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Call it after each Event that was created; every 256th call deletes expired Events. */
  eventCreated(): void {
    this.#created++;
    if (this.#created % createsPerSweep !== 0) return;
    const events = resourceNamed("events");
    const limit = this.#clock.now() - maxAge;
    for (const event of [...this.#store.list("events")]) {
      const { creationTimestamp } = event.metadata;
      const lastSeen = String(event["lastTimestamp"] ?? creationTimestamp);
      if (Date.parse(lastSeen) < limit && Date.parse(creationTimestamp) < limit)
        this.#store.remove(events, event);
    }
  }
}

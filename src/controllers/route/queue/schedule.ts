// Decides when all routes are synced: soon after a change, but not too soon after the last sync if another listing is
// needed. A full sync runs periodically.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { nextFullCheck, type RouteSettings } from "../settings.ts";

export interface SyncScheduleOptions {
  readonly settings: RouteSettings;
  readonly clock: Clock;
  readonly random: Random;
}

export class SyncSchedule {
  readonly #options: SyncScheduleOptions;
  #lastSync = Number.NEGATIVE_INFINITY;
  #fullCheckAt = 0;
  #isFirst = true;

  constructor(options: SyncScheduleOptions) {
    this.#options = options;
  }

  /** A leadership session starts with a full sync. */
  begin(): void {
    this.#fullCheckAt = this.#options.clock.monotonic();
    this.#isFirst = true;
  }

  get isFullCheckDue(): boolean {
    return this.#options.clock.monotonic() >= this.#fullCheckAt;
  }

  /** How long to wait after a change, so that other changes join the same sync. */
  delayAfterChange(needsListing: boolean): Milliseconds {
    const { clock, settings } = this.#options;
    const soon = clock.monotonic() + settings.batchWindow;
    const earliest = needsListing ? Math.max(soon, this.#lastSync + settings.minInterval) : soon;
    return milliseconds(earliest - clock.monotonic());
  }

  synced(began: number, knowsAllInstances: boolean): void {
    const { settings, random } = this.#options;
    // At the start the instances are not known yet; the first sync that knows them must not be delayed.
    if (!this.#isFirst || knowsAllInstances) this.#lastSync = began;
    this.#isFirst = false;
    this.#fullCheckAt = began + nextFullCheck(settings.fullCheck, random.fraction());
  }

  /** Changes wait for the one that is in progress: its end starts the next sync, however short ago the last one was. */
  continueSoon(): void {
    this.#lastSync = Number.NEGATIVE_INFINITY;
  }

  /** The delay without changes: until a backoff or a confirmation time ends, or until the next full sync. */
  delayToNext(end: number): Milliseconds {
    const at = Math.min(this.#fullCheckAt, end);
    return milliseconds(Math.max(0, at - this.#options.clock.monotonic()));
  }
}

// When all routes are looked at: soon after a change, but not too soon after the last look if that takes another listing,
// and at everything now and then.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { nextFullCheck, type RouteSettings } from "../settings.ts";

export interface CheckScheduleOptions {
  readonly settings: RouteSettings;
  readonly clock: Clock;
  readonly random: Random;
}

export class CheckSchedule {
  readonly #options: CheckScheduleOptions;
  #pauseFrom = Number.NEGATIVE_INFINITY;
  #fullCheckAt = 0;
  #isFirst = true;

  constructor(options: CheckScheduleOptions) {
    this.#options = options;
  }

  /** A term begins with a look at everything. */
  begin(): void {
    this.#fullCheckAt = this.#options.clock.monotonic();
    this.#isFirst = true;
  }

  get isFullCheckDue(): boolean {
    return this.#options.clock.monotonic() >= this.#fullCheckAt;
  }

  /** With whatever else changes until then. */
  soon(takesListing: boolean): Milliseconds {
    const { clock, settings } = this.#options;
    const soon = clock.monotonic() + settings.gathering;
    const earliest = takesListing ? Math.max(soon, this.#pauseFrom + settings.pause) : soon;
    return milliseconds(earliest - clock.monotonic());
  }

  checked(began: number, knowsAllMachines: boolean): void {
    const { settings, random } = this.#options;
    // At the start the machines are not known yet; what comes of knowing them does not wait.
    if (!this.#isFirst || knowsAllMachines) this.#pauseFrom = began;
    this.#isFirst = false;
    this.#fullCheckAt = began + nextFullCheck(settings.fullCheck, random.fraction());
  }

  /** Unless something changes: when a route has rested, or at the next full check. */
  next(rested: number | undefined): Milliseconds {
    const at = Math.min(this.#fullCheckAt, rested ?? Number.POSITIVE_INFINITY);
    return milliseconds(Math.max(0, at - this.#options.clock.monotonic()));
  }
}

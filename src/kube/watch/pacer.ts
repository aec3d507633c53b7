// Lets timers and other connections have their turn while a long stream is worked through.

import { milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";

export interface Pacer {
  /** A promise to wait for when enough was done in one go, otherwise undefined (waiting costs, even for nothing). */
  pause(signal: AbortSignal): Promise<void> | undefined;
}

export function createPacer(clock: Clock, longest = milliseconds(15)): Pacer {
  let since = clock.monotonic();
  return {
    pause: (signal) => {
      if (clock.monotonic() - since < longest) return undefined;
      return sleep(clock, milliseconds(0), signal).then(() => {
        since = clock.monotonic();
      });
    },
  };
}

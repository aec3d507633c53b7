// Changes that come in bursts, answered once when the burst is over; one that does not end is answered now and then.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

const quiet: Milliseconds = milliseconds(200);
const longest: Milliseconds = milliseconds(2000);

export function createDebounce(clock: Clock, answer: () => void) {
  let cancel: (() => void) | undefined;
  let beganAt = 0;
  return {
    hit: (): void => {
      const now = clock.monotonic();
      if (cancel === undefined) beganAt = now;
      cancel?.();
      cancel = clock.after(milliseconds(Math.min(quiet, beganAt + longest - now)), () => {
        cancel = undefined;
        answer();
      });
    },
    stop: (): void => {
      cancel?.();
      cancel = undefined;
    },
  };
}

// How often the cloud is asked about work that takes long. Pure.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";

/** A slow cloud is checked less often: the delay is at most a tenth of the time already waited. */
const checksPerWait = 10;
const maxCheckDelay: Milliseconds = seconds(30);

/** The delay before the next check: at least the one that the provider requests. */
export function slowerCheck(waited: Milliseconds, checkAfter: Milliseconds): Milliseconds {
  return milliseconds(Math.max(checkAfter, Math.min(maxCheckDelay, waited / checksPerWait)));
}

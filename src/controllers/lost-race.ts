// A write that was refused because somebody was faster: the object is no longer what we knew, or gone. That is nobody's
// failure; the key is looked at again in a moment, and after anything else it rests as the error asks for.

import { backoffAfter } from "../cloud/disposition.ts";
import { type Milliseconds, minutes, seconds } from "../core/brand.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { backoff, together } from "../runtime/backoff.ts";

const limits = { first: seconds(0.1), cap: minutes(1) };

/** By the guards of a patch or the preconditions of a delete. */
export function isLostRace(error: unknown): boolean {
  return isKubeError(error, "precondition", "conflict", "not-found");
}

/** How long a key rests after the n-th error in a row; after one of a cloud until a moment that others share. */
export function restAfterError(
  error: unknown,
  failures: number,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Milliseconds {
  return isLostRace(error)
    ? backoff(failures, limits, random)
    : together(clock.monotonic(), backoffAfter(error, failures, clock, random));
}

// How long a cloud wants to be left alone, as far as we believe it.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";
import { type Moment, untilMoment } from "../core/moment.ts";

/** A point in time is between two clocks, and ours may be hours wrong: asking too early costs one more refusal. */
const longestBelieved = minutes(15);

export function backoffFor(moment: Moment, now: number): Milliseconds {
  return "in" in moment ? moment.in : milliseconds(Math.min(longestBelieved, untilMoment(moment, now)));
}

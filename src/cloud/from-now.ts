// A moment as a cloud states it, in milliseconds from now: providers have no clock.

import { type Milliseconds, milliseconds, minutes } from "../core/brand.ts";
import type { Moment } from "../provider/call.ts";
import type { Clock } from "../seams/clock.ts";

export const fromNow = (moment: Moment, clock: Clock): Milliseconds =>
  "in" in moment ? moment.in : milliseconds(Math.max(0, moment.at - clock.now()));

/** A point in time is between two clocks, and ours may be hours wrong: asking too early costs one more refusal. */
const longestBelieved = minutes(15);

export const restUntil = (at: number, now: number): Milliseconds =>
  milliseconds(Math.min(longestBelieved, Math.max(0, at - now)));

/** How long a cloud wants to be left alone. */
export const restFor = (moment: Moment, clock: Clock): Milliseconds =>
  "in" in moment ? moment.in : restUntil(moment.at, clock.now());

// A moment as a cloud states it, in milliseconds from now: providers have no clock.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Moment } from "../provider/call.ts";
import type { Clock } from "../seams/clock.ts";

export const fromNow = (moment: Moment, clock: Clock): Milliseconds =>
  "in" in moment ? moment.in : milliseconds(Math.max(0, moment.at - clock.now()));

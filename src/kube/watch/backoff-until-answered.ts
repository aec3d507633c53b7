// How long a watch that lost its server rests: as long as the backoff says, or until the server has answered anybody else,
// and a moment longer. It does not know who asked; any answer shows that an outage is over.

import type { Milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";

export interface Rest {
  readonly atMost: Milliseconds;
  /** A server that has just come back is not asked by all at once. */
  readonly afterAnswer: Milliseconds;
}

/** Says whether an answer cut it short; rejects with the signal's reason when that comes first. */
export async function backoffUntilAnswered(
  { whenAnswered }: Pick<KubeApi, "whenAnswered">,
  clock: Clock,
  { atMost, afterAnswer }: Rest,
  signal: AbortSignal,
): Promise<boolean> {
  const { controller, unlink } = linkedController(signal);
  const rest = sleep(clock, atMost, controller.signal).then(() => false);
  const answered = whenAnswered(controller.signal)
    .then(() => sleep(clock, afterAnswer, controller.signal))
    .then(() => true);
  try {
    return await Promise.race([rest, answered]);
  } finally {
    controller.abort();
    unlink();
    await Promise.allSettled([rest, answered]);
  }
}

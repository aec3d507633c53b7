// The backoff of a watch after an outage: ends early, shortly after the server has answered any other request, because that
// shows that the outage is over.

import type { Milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";

export interface OutageBackoff {
  readonly max: Milliseconds;
  /** Jitter, so that not every watch reconnects to a recovered server at the same moment. */
  readonly afterAnswer: Milliseconds;
}

/** Returns whether an answer ended it early; rejects with the signal's reason. */
export async function backoffUntilAnswered(
  api: Pick<KubeApi, "whenAnswered">,
  clock: Clock,
  { max, afterAnswer }: OutageBackoff,
  signal: AbortSignal,
): Promise<boolean> {
  const { controller, unlink } = linkedController(signal);
  const elapsed = sleep(clock, max, controller.signal).then(() => false);
  const answered = api
    .whenAnswered(controller.signal)
    .then(() => sleep(clock, afterAnswer, controller.signal))
    .then(() => true);
  try {
    return await Promise.race([elapsed, answered]);
  } finally {
    controller.abort();
    unlink();
    await Promise.allSettled([elapsed, answered]);
  }
}

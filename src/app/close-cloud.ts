// Releases what a connection holds in the cloud, such as a session. A shutdown waits for this, but only briefly.

import { seconds } from "../core/brand.ts";
import { messageOf } from "../core/error-message.ts";
import type { Clock } from "../platform/clock.ts";
import type { AnyCloud } from "../provider/provider.ts";
import { withDeadline } from "../runtime/deadline.ts";
import type { Log } from "../telemetry/log.ts";

/** A cloud that responds takes much less time than this. */
const patience = seconds(3);

/** Never rejects, because the cloud expires remaining sessions later without a request. */
export async function closeCloud(
  cloud: Pick<AnyCloud, "close">,
  clock: Clock,
  log?: Pick<Log, "warn">,
): Promise<void> {
  const { close } = cloud;
  if (close === undefined) return;
  try {
    await withDeadline(
      clock,
      patience,
      "The end of the connection to the cloud",
      new AbortController().signal,
      (signal) => close({ signal, urgency: "user-change" }),
    );
  } catch (error) {
    log?.warn(
      `Cannot end the connection to the cloud; the cloud ends it later, without a request: ${messageOf(error)}`,
    );
  }
}

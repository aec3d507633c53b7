// The events of a manager: those about its work, which a Lease gates like every other write, and those about the Lease
// itself, which are told after it is lost. Both are written to the end, and a moment longer.

import { seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/errors.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { EventRecorder, type EventRecorderOptions } from "../../kube/events/events.ts";
import type { WriteGate } from "../../kube/requests/request.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { withDeadline } from "../../runtime/deadline.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";

export interface ManagerEventsOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly mayWrite: WriteGate;
  readonly onLost: NonNullable<EventRecorderOptions["onLost"]>;
}

export function createManagerEvents({ api, clock, random, log, mayWrite, onLost }: ManagerEventsOptions) {
  const events = new EventRecorder({ api: api.as({ mayWrite }), clock, random, onLost });
  const announcements = new EventRecorder({ api: api.as({ mayWrite: () => true }), clock, random });
  const writing = new AbortController();
  const tasks: readonly Task[] = [
    { name: "events", run: () => events.run(writing.signal) },
    { name: "announcements", run: () => announcements.run(writing.signal) },
  ];
  return {
    events,
    announcements,
    tasks,
    /** Waits for what is pending, but not for long. */
    flush: (): Promise<void> =>
      withDeadline(clock, seconds(2), "The last events", writing.signal, async (stop) => {
        await Promise.all([events.whenIdle(stop), announcements.whenIdle(stop)]);
      }).catch((error: unknown) => log.warn(messageOf(error))),
    close: (): void => writing.abort(),
  };
}

// Records a manager's events: controller events, gated by the Lease like every write, and leader election events, which are written
// even after the Lease is lost.

import { seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { EventRecorder, type EventRecorderOptions } from "../../kube/events/event-recorder.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { withDeadline } from "../../runtime/deadline.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";

export interface ManagerEventsOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly mayWrite: WriteGate;
  readonly onLost: NonNullable<EventRecorderOptions["onLost"]>;
}

/** The time limit for pending events before the Lease is released. */
const flushDeadline = seconds(2);

export class ManagerEvents {
  /** Records controller events. */
  readonly events: EventRecorder;
  /** The recorder of leader election events. */
  readonly announcements: EventRecorder;
  readonly tasks: readonly Task[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #writing = new AbortController();

  constructor({ api, clock, random, log, mayWrite, onLost }: ManagerEventsOptions) {
    this.#clock = clock;
    this.#log = log;
    this.events = new EventRecorder({ api: api.as({ mayWrite }), clock, random, onLost });
    this.announcements = new EventRecorder({ api: api.as({ mayWrite: () => true }), clock, random });
    this.tasks = [
      { name: "events", run: () => this.events.run(this.#writing.signal) },
      { name: "announcements", run: () => this.announcements.run(this.#writing.signal) },
    ];
  }

  /** Waits a limited time until pending events are written. */
  async flush(): Promise<void> {
    const flushed = withDeadline(
      this.#clock,
      flushDeadline,
      "The last events",
      this.#writing.signal,
      async (stop) => {
        await Promise.all([this.events.whenIdle(stop), this.announcements.whenIdle(stop)]);
      },
    );
    await flushed.catch((error: unknown) => this.#log.warn(messageOf(error)));
  }

  close(): void {
    this.#writing.abort();
  }
}

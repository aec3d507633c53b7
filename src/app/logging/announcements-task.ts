// Reports the announcements of the cloud and the API server in one log line and one event on the
// Lease, and again when they change.

import { minutes } from "../../core/brand.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { announcedProblem, type Deprecations } from "../report/deprecations.ts";

const interval = minutes(1);

export interface AnnouncementsDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
  readonly reportOnLease: (controller: ControllerName, problem: Problem) => void;
  readonly deprecations: Pick<Deprecations, "all">;
}

export function announcementsTask({ clock, deprecations, log, reportOnLease }: AnnouncementsDeps): Task {
  let reported: string | undefined;
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await sleep(clock, interval, signal).catch(() => undefined);
      const problem = announcedProblem(deprecations.all);
      const text = problem && messageIn(problem);
      if (problem !== undefined && text !== undefined && text !== reported && !signal.aborted) {
        log.warn(text, { reason: problem.reason });
        reportOnLease("cloud-node", problem);
      }
      reported = text;
    }
  };
  return { name: "announcements", run };
}

// In observe mode nothing is written, so the log is where the plan is: each wish for an object with its values, once for as
// long as it stays the same. A wish is known by its reason, for an object may be given several, which come in turns.

import type { JournalEntry } from "../../runtime/journal.ts";
import type { Log } from "../../telemetry/log.ts";

/** Objects remembered at most; beyond that a line may come again. */
const capacity = 50_000;

export interface PlanReporter {
  readonly report: (entry: JournalEntry) => void;
  /** Different wishes so far. */
  readonly desired: () => number;
}

export function createPlanReporter(log: Log): PlanReporter {
  const reported = new Map<string, string>();
  const report = ({ outcome, action, object, why, target, detail }: JournalEntry): void => {
    if (outcome !== "observed") {
      log.debug(2, action, { object, outcome, why });
      return;
    }
    // The paths of a patch depend on what others have put there meanwhile; its values do not.
    const [kind = action] = action.split(": ");
    const desired = detail === undefined ? action : `${kind}: ${detail}`;
    const key = `${target} ${object} ${kind} ${why}`;
    if (reported.get(key) === desired) return;
    if (reported.size >= capacity) reported.clear();
    reported.set(key, desired);
    log.info(`Would ${desired}`, { object, because: why });
  };
  return { report, desired: () => reported.size };
}

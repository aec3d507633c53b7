// In observe mode nothing is written, so the log is where the plan is: each wish for an object with its values, once for as
// long as it stays the same. A wish is known by its reason, for an object may be given several, which come in turns.

import type { JournalEntry } from "../../runtime/journal.ts";
import type { Log } from "../../telemetry/log.ts";

/** Objects remembered at most; beyond that a line may come again. */
const capacity = 50_000;

export interface PlanTeller {
  readonly tell: (entry: JournalEntry) => void;
  /** Different wishes so far. */
  readonly wishes: () => number;
}

export const createPlanTeller = (log: Log): PlanTeller => {
  const told = new Map<string, string>();
  const tell = ({ outcome, action, object, why, target, detail }: JournalEntry): void => {
    if (outcome !== "observed") {
      log.debug(2, action, { object, outcome, why });
      return;
    }
    // The paths of a patch depend on what others have put there meanwhile; its values do not.
    const [kind = action] = action.split(": ");
    const wish = detail === undefined ? action : `${kind}: ${detail}`;
    const key = `${target} ${object} ${kind} ${why}`;
    if (told.get(key) === wish) return;
    if (told.size >= capacity) told.clear();
    told.set(key, wish);
    log.info(`Would ${wish}`, { object, because: why });
  };
  return { tell, wishes: () => told.size };
};

// In observe mode nothing is written, so the log is where the plan is: each thing that would be done, once per object until
// it changes.

import type { JournalEntry } from "../runtime/journal.ts";
import type { Log } from "../telemetry/log.ts";

/** Objects remembered at most; beyond that a line may come again. */
const capacity = 10_000;

export const planTeller = (log: Log): ((entry: JournalEntry) => void) => {
  const told = new Map<string, string>();
  return ({ outcome, action, object, why, target }) => {
    if (outcome !== "observed") {
      log.debug(2, action, { object, outcome, why });
      return;
    }
    const key = `${target} ${object} ${action.split(":")[0]}`;
    if (told.get(key) === action) return;
    if (told.size >= capacity) told.clear();
    told.set(key, action);
    log.info(`Would ${action}`, { object, because: why });
  };
};

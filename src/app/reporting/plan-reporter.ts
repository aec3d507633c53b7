// Logs the planned changes in observe mode, where nothing is written: each with its values, once while it stays the same.

import { describeChange, type JournalEntry } from "../../runtime/journal.ts";
import type { Log } from "../../telemetry/log.ts";

/** Maximum number of remembered changes; beyond it, a change may be logged again. */
const capacity = 50_000;

export class PlanReporter {
  readonly #log: Log;
  readonly #reported = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Number of different changes so far. */
  get size(): number {
    return this.#reported.size;
  }

  report(entry: JournalEntry): void {
    const { outcome, action, object, why, target } = entry;
    if (outcome !== "observed") {
      this.#log.debug(2, action, { object, outcome, why });
      return;
    }
    const [kind = action] = action.split(": ");
    const change = describeChange(entry);
    // The reason is part of the key, because several changes of one object may be planned in turn.
    const key = `${target} ${object} ${kind} ${why}`;
    if (this.#reported.get(key) === change) return;
    if (this.#reported.size >= capacity) this.#reported.clear();
    this.#reported.set(key, change);
    this.#log.info(`Would ${change}`, { object, because: why });
  }
}

// The changed values that take effect after a restart of the process. Each is logged once.

import type { Log } from "../../telemetry/log.ts";
import type { PendingChange } from "./configuration-diff.ts";

export class PendingRestart {
  readonly #log: Log;
  #changes: readonly PendingChange[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  get all(): readonly string[] {
    return this.#changes.map(({ text }) => text);
  }

  /** For a log line: which changes wait. */
  get text(): string {
    return `changes to ${namesOf(this.#changes)} take effect after a restart`;
  }

  /** Returns whether that logged anything. */
  replace(changes: readonly PendingChange[]): boolean {
    const known = new Set(this.all);
    const added = changes.filter(({ text }) => !known.has(text));
    const hadChanges = this.#changes.length > 0;
    this.#changes = changes;
    for (const { text } of added) this.#log.info(`Configuration: ${text} (needs a restart)`);
    if (added.length > 0) {
      const names = namesOf(added);
      this.#log.warn(
        `Changes to ${names} take effect after a restart; until then the previous values apply. Restart this process to use them.`,
      );
    } else if (hadChanges && changes.length === 0) {
      this.#log.info("No change of the configuration waits for a restart any more");
      return true;
    }
    return added.length > 0;
  }
}

function namesOf(changes: readonly PendingChange[]): string {
  return changes.map(({ name }) => name).join(", ");
}

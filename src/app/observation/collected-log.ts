// A log that keeps its warnings and errors, each once, instead of writing them: a command shows them at the end.

import type { Log, LogFields } from "../../telemetry/log.ts";

const capacity = 1000;

export class CollectedLog implements Log {
  readonly #lines = new Set<string>();

  get lines(): readonly string[] {
    return [...this.#lines];
  }

  info(): void {
    // Decisions are in the journal.
  }

  debug(): void {
    // Only warnings are kept.
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#add(message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#add(message, fields);
  }

  /** Warnings about one object are in its description. */
  #add(message: string, fields: LogFields): void {
    if (fields["node"] !== undefined || fields["service"] !== undefined) return;
    if (this.#lines.size < capacity) this.#lines.add(message);
  }
}

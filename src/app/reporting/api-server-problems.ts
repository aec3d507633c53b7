// Logs problems with the API server once for all callers, again if they last, and when they are over. If the
// API server is unavailable, every watch fails, and one line is enough.

import { minutes } from "../../core/brand.ts";
import { messageOf } from "../../core/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../telemetry/log.ts";

/** How often to repeat the message of a lasting problem. */
const repeatAfter = minutes(5);
/** Maximum number of remembered messages; beyond it, a message may be repeated. */
const capacity = 100;

export class ApiServerProblems {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #reportedAt = new Map<string, number>();
  readonly #failing = new Set<string>();
  #since: number | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** `watch` is set by callers that also report the recovery. */
  failed(error: unknown, watch?: string): void {
    const now = this.#clock.monotonic();
    if (watch !== undefined) {
      this.#failing.add(watch);
      this.#since ??= now;
    }
    const message = messageOf(error);
    const last = this.#reportedAt.get(message);
    if (last !== undefined && now - last < repeatAfter) return;
    if (this.#reportedAt.size >= capacity) this.#reportedAt.clear();
    this.#reportedAt.set(message, now);
    const isRepeated = this.#since !== undefined && last !== undefined;
    this.#log.warn(
      message,
      isRepeated ? { forSeconds: Math.round((now - (this.#since ?? now)) / 1000) } : {},
    );
  }

  recovered(watch: string): void {
    this.#failing.delete(watch);
    if (this.#failing.size > 0 || this.#since === undefined) return;
    const afterSeconds = Math.round((this.#clock.monotonic() - this.#since) / 1000);
    this.#log.info("All watches of the API server work again", { afterSeconds });
    this.#since = undefined;
    this.#reportedAt.clear();
  }
}

// Sends writes and records each in the journal with its reason and outcome, so that "who changed my Node?" can be answered.
// Observe mode only records them.

import { isFenced } from "../../cloud/error-policies.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Journal, JournalEntry } from "../../runtime/journal.ts";

export interface JournalledOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly mode: "enforce" | "observe";
}

export type JournalledChange = Pick<JournalEntry, "action" | "object" | "why"> & {
  /** Describes what would be written. Called only in observe mode; otherwise the object itself shows the result. */
  readonly describe?: () => string;
};

/** Sends one request that makes all of these changes or none. Returns `observed` if the request was not sent. */
export type JournalledSend = <T>(
  changes: readonly JournalledChange[],
  send: () => Promise<T>,
) => Promise<T | "observed">;

export function journalledSend(
  { journal, clock, mode }: JournalledOptions,
  target: JournalEntry["target"],
  /** Errors that a guard raises on purpose are recorded as refused instead of failed. */
  isRefusal: (error: unknown) => boolean,
): JournalledSend {
  return async (changes, send) => {
    const started = clock.monotonic();
    const record = (
      outcome: JournalEntry["outcome"],
      result: Pick<JournalEntry, "detail" | "requestID"> = {},
    ): void => {
      const durationMs = clock.monotonic() - started;
      for (const { action, object, why, describe } of changes) {
        const detail = outcome === "observed" && describe !== undefined ? { detail: describe() } : result;
        journal.record({ action, object, why, ...detail, target, at: clock.now(), outcome, durationMs });
      }
    };
    if (mode === "observe") {
      record("observed");
      return "observed";
    }
    try {
      const result = await send();
      record("done");
      return result;
    } catch (error) {
      const requestID = CloudError.is(error) ? error.detail.requestID : undefined;
      record(isRefusal(error) ? "refused" : "failed", defined({ detail: messageOf(error), requestID }));
      throw error;
    }
  };
}

/** For changes in the cloud. Changes that the leadership fence stops are recorded as refused. */
export function journalledCloudSend(options: JournalledOptions): JournalledSend {
  return journalledSend(options, "cloud", isFenced);
}

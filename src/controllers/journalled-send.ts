// Writes, each journalled with its reason and its outcome, so that "who changed my node?" has an answer: sent in enforce
// mode, only written down in observe mode. What is sent is for the caller.

import { messageOf } from "../core/message-of.ts";
import type { Clock } from "../platform/clock.ts";
import { CloudError } from "../provider/errors.ts";
import type { Journal, JournalEntry } from "../runtime/journal.ts";

export interface JournalledOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly mode: "enforce" | "observe";
}

/** In the words of the plan. */
export type WrittenDown = Pick<JournalEntry, "action" | "object" | "why"> & {
  /** What would be written, by value. Asked only when it is not sent: the object itself shows what was. */
  readonly describe?: () => string;
};

/** One request that does all of this or nothing; `observed` when it was not sent. */
export type JournalledSend = <T>(
  entries: readonly WrittenDown[],
  send: () => Promise<T>,
) => Promise<T | "observed">;

export function journalledSend(
  { journal, clock, mode }: JournalledOptions,
  target: JournalEntry["target"],
  /** Nobody's failure: it was refused as it should be. */
  isRefusal: (error: unknown) => boolean,
): JournalledSend {
  return async (entries, send) => {
    const started = clock.monotonic();
    const end = (outcome: JournalEntry["outcome"], rest: Pick<JournalEntry, "detail" | "requestID"> = {}) => {
      const durationMs = clock.monotonic() - started;
      for (const { action, object, why, describe } of entries) {
        const words = outcome === "observed" && describe !== undefined ? { detail: describe() } : rest;
        journal.record({ action, object, why, ...words, target, at: clock.now(), outcome, durationMs });
      }
    };
    if (mode === "observe") {
      end("observed");
      return "observed";
    }
    try {
      const result = await send();
      end("done");
      return result;
    } catch (error) {
      const requestID = CloudError.is(error) ? error.detail.requestID : undefined;
      end(isRefusal(error) ? "refused" : "failed", {
        detail: messageOf(error),
        ...(requestID !== undefined && { requestID }),
      });
      throw error;
    }
  };
}

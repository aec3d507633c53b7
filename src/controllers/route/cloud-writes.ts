// Changes of the cloud, each journalled with its reason: sent in enforce mode, only written down in observe mode. What the
// fence in the transport refuses is journalled as refused.

import { CloudError } from "../../provider/errors.ts";
import type { Journal, JournalEntry } from "../../runtime/journal.ts";
import type { Clock } from "../../seams/clock.ts";

/** In the words of the plan. */
export type CloudChange = Pick<JournalEntry, "action" | "object" | "why">;

export interface CloudWrites {
  /** One call that makes these changes, all or none; `observed` when it was not sent. */
  send<T>(changes: readonly CloudChange[], call: () => Promise<T>): Promise<T | "observed">;
}

export const isFenced = (error: unknown): boolean => CloudError.is(error) && error.detail.cause === "fenced";

export interface CloudWritesOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly mode: "enforce" | "observe";
}

export const createCloudWrites = ({ journal, clock, mode }: CloudWritesOptions): CloudWrites => ({
  send: async (changes, call) => {
    const started = clock.monotonic();
    const end = (outcome: JournalEntry["outcome"], rest: Pick<JournalEntry, "detail" | "requestID"> = {}) => {
      const durationMs = clock.monotonic() - started;
      for (const change of changes) {
        journal.record({ ...change, ...rest, target: "cloud", at: clock.now(), outcome, durationMs });
      }
    };
    if (mode === "observe") {
      end("observed");
      return "observed";
    }
    try {
      const result = await call();
      end("done");
      return result;
    } catch (error) {
      const requestID = CloudError.is(error) ? error.detail.requestID : undefined;
      end(isFenced(error) ? "refused" : "failed", {
        detail: error instanceof Error ? error.message : String(error),
        ...(requestID !== undefined && { requestID }),
      });
      throw error;
    }
  },
});

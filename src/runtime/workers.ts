// Workers of a queue: each takes a key, reconciles it, and adds it again if the outcome or the error requires that.

import type { Milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import type { Clock } from "../platform/clock.ts";
import { endOf } from "./draining.ts";
import { turn } from "./turns.ts";
import type { Priority, WorkQueue } from "./work-queue.ts";

/** The next action for a key. Every reconcile returns an outcome; there is no default. */
export type Outcome =
  | { readonly kind: "settled" }
  /**
   * A pending lookup enqueues the key again, at the latest after this time. This is neither a success nor a failure.
   */
  | { readonly kind: "waiting"; readonly atMost?: Milliseconds }
  /** Reconciles again after this time, which is not a failure. */
  | {
      readonly kind: "again";
      readonly after: Milliseconds;
      readonly why: string;
      readonly priority?: Priority;
    };

export const settled: Outcome = { kind: "settled" };
export const waiting: Outcome = { kind: "waiting" };
export function waitingAtMost(atMost: Milliseconds): Outcome {
  return { kind: "waiting", atMost };
}
export function requeue(after: Milliseconds, why: string, priority?: Priority): Outcome {
  return defined({ kind: "again" as const, after, why, priority });
}

export interface WorkerOptions {
  readonly queue: WorkQueue;
  readonly count: number;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** The outcome of an error. `failures` counts consecutive failures of this key, including the current failure. */
  readonly onError: (key: string, error: unknown, failures: number) => Outcome;
  readonly onDone?: (key: string, outcome: Outcome, durationMs: number) => void;
  readonly clock: Clock;
}

/** The flags accept any number, as in upstream. More workers than this would only cost memory. */
const maxWorkers = 1000;

/** Resolves when the signal is aborted and no key is being reconciled, because all have finished or the drain has ended. */
export async function runWorkers(options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const { clock, queue } = options;
  /** Consecutive failures by key. */
  const failures = new Map<string, number>();
  const end = endOf(signal);
  const work = async (): Promise<void> => {
    for (;;) {
      let key: string;
      try {
        key = await queue.take(signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      // Without this pause, keys that arrive together would all run up to their first request in one turn.
      const pause = turn(clock);
      if (pause !== undefined) await pause;
      const started = clock.monotonic();
      const outcome = await attempt(key);
      if (outcome.kind === "again") {
        const isRetry = failures.has(key);
        queue.add(key, defined({ delay: outcome.after, priority: outcome.priority, isRetry }));
      }
      if (outcome.kind === "waiting" && outcome.atMost !== undefined) {
        queue.add(key, { delay: outcome.atMost });
      }
      queue.done(key);
      options.onDone?.(key, outcome, clock.monotonic() - started);
    }
  };
  const attempt = async (key: string): Promise<Outcome> => {
    try {
      const reconcile = () => options.reconcile(key, end.signal);
      const outcome = await (queue.wrapper?.(key, reconcile) ?? reconcile());
      if (outcome.kind !== "waiting") failures.delete(key);
      return outcome;
    } catch (error) {
      if (end.signal.aborted) return settled;
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      return options.onError(key, error, count);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(options.count, maxWorkers) }, work));
  } finally {
    end.abort();
  }
}

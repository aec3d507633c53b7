// Workers over a queue: each takes a key, reconciles it, and puts it back when the outcome or the error says so.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { endOf } from "./draining.ts";
import type { Priority, WorkQueue } from "./work-queue.ts";

/** What happens next to a key. There is no silent default: a reconcile says it. */
export type Outcome =
  | { readonly kind: "settled" }
  /** A question is under way and its answer will bring the key back: neither a success nor a failure yet. */
  | { readonly kind: "waiting" }
  /** The world moves on its own; look again then. Not a failure. */
  | {
      readonly kind: "again";
      readonly after: Milliseconds;
      readonly why: string;
      readonly priority?: Priority;
    };

export const settled: Outcome = { kind: "settled" };
export const waiting: Outcome = { kind: "waiting" };
export function requeue(after: Milliseconds, why: string, priority?: Priority): Outcome {
  return {
    kind: "again",
    after,
    why,
    ...(priority !== undefined && { priority }),
  };
}

export interface WorkerOptions {
  readonly queue: WorkQueue;
  readonly count: number;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** Decides what an error leads to; `failures` counts those of this key in a row, this one included. */
  readonly onError: (key: string, error: unknown, failures: number) => Outcome;
  readonly onDone?: (key: string, outcome: Outcome, durationMs: number) => void;
  readonly clock: Clock;
}

/** Thousands of keys for which there is nothing to do must not hold up timers and sockets. */
const longestSlice = 10;

/** Undefined while this turn of the event loop is young, else its end; shared by all workers of a queue. */
function createSlices(clock: Clock): () => Promise<void> | undefined {
  let turn: { readonly began: number; readonly end: Promise<void> } | undefined;
  return () => {
    const now = clock.monotonic();
    if (turn !== undefined) return now - turn.began < longestSlice ? undefined : turn.end;
    const end = new Promise<void>((resolve) => {
      clock.after(milliseconds(0), () => {
        turn = undefined;
        resolve();
      });
    });
    turn = { began: now, end };
    return undefined;
  };
}

/** Resolves when the signal is aborted and every key in hand has been put down, or cut off at the end of a drain. */
export async function runWorkers(options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const failures = new Map<string, number>();
  const { clock } = options;
  const slice = createSlices(clock);
  const end = endOf(signal);
  const work = async (): Promise<void> => {
    for (;;) {
      let key: string;
      try {
        key = await options.queue.take(signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      const started = clock.monotonic();
      const outcome = await attempt(key);
      if (outcome.kind === "again") {
        options.queue.add(key, {
          delay: outcome.after,
          ...(outcome.priority !== undefined && { priority: outcome.priority }),
        });
      }
      options.queue.done(key);
      options.onDone?.(key, outcome, clock.monotonic() - started);
      await slice();
    }
  };
  const attempt = async (key: string): Promise<Outcome> => {
    try {
      const outcome = await options.reconcile(key, end.signal);
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
    await Promise.all(Array.from({ length: options.count }, work));
  } finally {
    end.abort();
  }
}

// Workers of a queue: each takes a key, reconciles it, and adds it again when the outcome or the error requires it.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import type { Clock } from "../platform/clock.ts";
import { endOf } from "./draining.ts";
import type { Priority, WorkQueue } from "./work-queue.ts";

/** What happens next to a key. Every reconcile returns one; there is no default. */
export type Outcome =
  | { readonly kind: "settled" }
  /**
   * A pending lookup enqueues the key again, at the latest after this time. This is neither a success nor a failure.
   */
  | { readonly kind: "waiting"; readonly atMost?: Milliseconds }
  /** Reconcile again after this time. Not a failure. */
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
  /** The number of workers. */
  readonly count: number;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** The outcome of an error. `failures` counts consecutive failures of this key, including this one. */
  readonly onError: (key: string, error: unknown, failures: number) => Outcome;
  readonly onDone?: (key: string, outcome: Outcome, durationMs: number) => void;
  readonly clock: Clock;
}

/** Milliseconds: thousands of keys without work must not block timers and sockets. */
const maxSlice = 10;

/** Time slices of the event loop, shared by all workers of a queue. */
class TimeSlices {
  readonly #clock: Clock;
  #slice: { readonly began: number; readonly end: Promise<void> } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined while the current slice is short, else a promise of its end. */
  pause(): Promise<void> | undefined {
    const now = this.#clock.monotonic();
    if (this.#slice !== undefined) return now - this.#slice.began < maxSlice ? undefined : this.#slice.end;
    const end = new Promise<void>((resolve) => {
      this.#clock.after(milliseconds(0), () => {
        this.#slice = undefined;
        resolve();
      });
    });
    this.#slice = { began: now, end };
    return undefined;
  }
}

/** The flags accept any number, as upstream. More workers than this would only cost memory. */
const maxWorkers = 1000;

/** Resolves when the signal is aborted and no key is being reconciled: all have finished, or the drain has ended. */
export async function runWorkers(options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const { clock, queue } = options;
  /** Consecutive failures by key. */
  const failures = new Map<string, number>();
  const slices = new TimeSlices(clock);
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
      // Keys that arrive together would all run up to their first request in one turn. Those that wait for the end of a slice
      // continue one after the other, as far as the next slice lasts.
      for (let end = slices.pause(); end !== undefined; end = slices.pause()) await end;
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

// Runs a controller for one leadership session: begins its subscriptions, runs its workers until the signal is aborted, and ends the
// subscriptions.

import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers } from "../../runtime/workers.ts";
import { delayAfterError } from "../classify-error.ts";

/** Yields a function that ends each subscription, once the subscription has begun. */
export type Subscriptions = Iterable<() => void>;

/** The tasks of a controller in a session. */
export interface Reconciler {
  readonly queue: WorkQueue;
  /** Begins the session. When all workers have ended, the subscriptions end in the same order. */
  begin(signal: AbortSignal): Subscriptions;
  reconcile(key: string, signal: AbortSignal): Promise<Outcome>;
  /** Reports the error. Returns an outcome only if the default retry delay would be incorrect. */
  onError?(key: string, error: unknown, failures: number): Outcome | undefined;
}

export interface RunOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How many workers process the queue. */
  readonly concurrency: number;
}

/** Resolves when no key is being reconciled and all subscriptions have ended, even after an error in one of them. */
export async function runController(
  reconciler: Reconciler,
  options: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  const ends: (() => void)[] = [];
  try {
    for (const end of reconciler.begin(signal)) ends.push(end);
    await runWorkers(
      {
        queue: reconciler.queue,
        clock: options.clock,
        count: options.concurrency,
        reconcile: (key, end) => reconciler.reconcile(key, end),
        onError: (key, error, failures) =>
          reconciler.onError?.(key, error, failures) ??
          requeue(delayAfterError(error, failures, options), "an error"),
      },
      signal,
    );
  } finally {
    endAll(ends);
  }
}

function endAll([end, ...others]: readonly (() => void)[]): void {
  try {
    end?.();
  } finally {
    if (others.length > 0) endAll(others);
  }
}

// Long-running work that can be paused. A pause drains the work, and the work starts again when the pause ends. Nothing runs
// during a pause, so what the work depends on can be replaced then.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { abortable, linkedController } from "./abortable.ts";
import { Draining, endOf } from "./draining.ts";

/** Work between two pauses. */
interface Run {
  readonly controller: AbortController;
  /** Cancels work in progress. */
  readonly end: AbortController;
  readonly ended: Promise<void>;
}

export class PausableWork {
  readonly #running = new Set<Run>();
  /** Calls of `run` that have not ended. */
  #calls = 0;
  /** Set during a pause. */
  #resumed: PromiseWithResolvers<void> | undefined;

  /**
   * Runs the work until it ends or the signal is aborted. A pause aborts the signal of the work with `Draining`, and the work is
   * called again after the pause.
   */
  async run(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    let isPaused = true;
    this.#calls += 1;
    try {
      while (isPaused && !signal.aborted) {
        // A session that is lost during a pause must not wait for its end.
        if (this.#resumed !== undefined)
          await abortable(this.#resumed.promise, signal).catch(() => undefined);
        else isPaused = await this.#runUntilPaused(work, signal);
      }
    } finally {
      this.#calls -= 1;
    }
  }

  /** Whether there is work to run, also during a pause. */
  get isRunning(): boolean {
    return this.#calls > 0;
  }

  /** Starts nothing until `resume`. Resolves when the running work has ended: finished, or cancelled by `cancel`. */
  async pause(why: string, cancel: AbortSignal): Promise<void> {
    this.#resumed ??= Promise.withResolvers();
    const ends = [...this.#running].map(async ({ controller, end, ended }) => {
      if (cancel.aborted) end.abort();
      else cancel.addEventListener("abort", () => end.abort(), { once: true, signal: end.signal });
      controller.abort(new Draining(why, end.signal));
      await ended;
    });
    await Promise.all(ends);
  }

  resume(): void {
    this.#resumed?.resolve();
    this.#resumed = undefined;
  }

  /** Returns whether a pause ended the work. Throws the error of the work. */
  async #runUntilPaused(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const { controller, unlink } = linkedController(signal);
    const end = endOf(signal);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const run = { controller, end, ended };
    this.#running.add(run);
    try {
      await work(controller.signal);
      return controller.signal.aborted;
    } finally {
      this.#running.delete(run);
      unlink();
      end.abort();
      resolve();
    }
  }
}

export interface PauseOptions {
  readonly why: string;
  readonly clock: Clock;
  /** How long running work may take to finish. After it, the work is cancelled. */
  readonly grace: Milliseconds;
  readonly onDeadline: (grace: Milliseconds) => void;
}

/** Pauses all of them, calls `replace` when none runs, and resumes them, also if `replace` throws. */
export async function whilePaused(
  all: readonly PausableWork[],
  { why, clock, grace, onDeadline }: PauseOptions,
  replace: () => void,
): Promise<void> {
  const cancel = new AbortController();
  const stopTimer = clock.after(grace, () => {
    onDeadline(grace);
    cancel.abort();
  });
  try {
    await Promise.all(all.map((work) => work.pause(why, cancel.signal)));
    replace();
  } finally {
    stopTimer();
    for (const work of all) work.resume();
  }
}

// Long-running work in shifts: a pause drains the running shift, and the next one begins when the pause ends. What the work
// depends on can be replaced in between, because nothing runs then.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import { abortable, linkedController } from "./abortable.ts";
import { Draining, endOf } from "./draining.ts";

interface Shift {
  readonly controller: AbortController;
  /** Cancels work in progress. */
  readonly end: AbortController;
  readonly ended: Promise<void>;
}

export class Shifts {
  readonly #running = new Set<Shift>();
  /** Calls of `run` that have not ended. */
  #runs = 0;
  /** Set during a pause. */
  #resumed: PromiseWithResolvers<void> | undefined;

  /**
   * Runs the work until it ends or the signal is aborted, without a shift during a pause. The signal of a paused shift is
   * aborted with `Draining`.
   */
  async run(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    let isPaused = true;
    this.#runs += 1;
    try {
      while (isPaused && !signal.aborted) {
        // A session that is lost during a pause must not wait for its end.
        if (this.#resumed !== undefined)
          await abortable(this.#resumed.promise, signal).catch(() => undefined);
        else isPaused = await this.#runShift(work, signal);
      }
    } finally {
      this.#runs -= 1;
    }
  }

  /** Whether there is work to run, also during a pause. */
  get isRunning(): boolean {
    return this.#runs > 0;
  }

  /** Starts no shift until `resume`. Resolves when the running shifts have ended: finished, or cancelled by `cancel`. */
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

  /** Returns whether the shift ended because of a pause. Throws the error of the work. */
  async #runShift(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const { controller, unlink } = linkedController(signal);
    const end = endOf(signal);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const shift = { controller, end, ended };
    this.#running.add(shift);
    try {
      await work(controller.signal);
      return controller.signal.aborted;
    } finally {
      this.#running.delete(shift);
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

/** Calls `replace` when no shift of any of them runs. They resume afterwards, also if it throws. */
export async function betweenShifts(
  all: readonly Shifts[],
  { why, clock, grace, onDeadline }: PauseOptions,
  replace: () => void,
): Promise<void> {
  const cancel = new AbortController();
  const stopTimer = clock.after(grace, () => {
    onDeadline(grace);
    cancel.abort();
  });
  try {
    await Promise.all(all.map((shifts) => shifts.pause(why, cancel.signal)));
    replace();
  } finally {
    stopTimer();
    for (const shifts of all) shifts.resume();
  }
}

// Waits for long-running cloud operations. All due operations are checked together.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { inBatches } from "../../core/in-batches.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Pending } from "../../provider/plan.ts";
import { abortable } from "../../runtime/abortable.ts";

interface Waiting {
  readonly id: string;
  readonly ended: PromiseWithResolvers<void>;
  checkAt: number;
}

/** Operations that are due within this time are checked together. */
const batchWindow = 250;
/** The delay after a failed check. */
const retryAfter: Milliseconds = milliseconds(2000);

export interface OperationWaitsOptions {
  /** Read on each check. Undefined if the cloud has no long-running operations. */
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  /** Aborted when the process ends. */
  readonly life: AbortSignal;
}

export class OperationWaits {
  readonly #options: OperationWaitsOptions;
  readonly #clock: Clock;
  readonly #life: AbortSignal;
  readonly #waiting = new Set<Waiting>();
  #isPolling = false;

  constructor(options: OperationWaitsOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#life = options.life;
  }

  /**
   * Resolves when the operation has ended, or when the cloud does not know it, in which case its effect is read afterwards.
   * Rejects with the operation's error, or when the signal is aborted.
   */
  async end(id: string, checkAfter: Milliseconds, signal: AbortSignal): Promise<void> {
    const checkAt = this.#clock.monotonic() + checkAfter;
    const waiting: Waiting = { id, ended: Promise.withResolvers<void>(), checkAt };
    this.#waiting.add(waiting);
    this.#poll();
    try {
      await abortable(waiting.ended.promise, signal);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  #poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    // Only the end of the process ends this early.
    this.#pollAll().catch(() => undefined);
  }

  async #pollAll(): Promise<void> {
    try {
      while (this.#waiting.size > 0) await this.#pollDue();
    } finally {
      this.#isPolling = false;
    }
  }

  async #pollDue(): Promise<void> {
    const next = Math.min(...[...this.#waiting].map(({ checkAt }) => checkAt));
    const delay = milliseconds(Math.max(0, next - this.#clock.monotonic()));
    await sleep(this.#clock, delay, this.#life);
    const until = this.#clock.monotonic() + batchWindow;
    const due = [...this.#waiting].filter(({ checkAt }) => checkAt <= until);
    const limit = this.#options.pending?.limit ?? due.length;
    for (const batch of inBatches(due, limit)) await this.#check(batch);
  }

  async #check(due: readonly Waiting[]): Promise<void> {
    const ids = [...new Set(due.map(({ id }) => id))];
    try {
      const call = { signal: this.#life, urgency: "user-change" } as const;
      const states = (await this.#options.pending?.check(ids, call)) ?? new Map();
      for (const waiting of due) {
        const state = states.get(waiting.id);
        if (CloudError.is(state)) waiting.ended.reject(state);
        else if (state === undefined || state.done) waiting.ended.resolve();
        else waiting.checkAt = this.#clock.monotonic() + state.checkAfter;
      }
    } catch {
      // Waiting calls have deadlines, so a failed check is only repeated.
      for (const waiting of due) waiting.checkAt = this.#clock.monotonic() + retryAfter;
    }
  }
}

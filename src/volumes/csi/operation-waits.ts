// Waits for long-running operations of the cloud. All that are due are checked together.

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

/** Operations that are due soon after another operation are checked together with it. */
const batchWindow = 250;
/** After a check that failed. */
const retryAfter: Milliseconds = milliseconds(2000);

export interface OperationWaitsOptions {
  /** Read for each check. Undefined if the cloud has no long-running operations. */
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
   * Resolves when the operation has ended, or when the cloud does not know it: its effect is read afterwards. Rejects with the
   * error of the operation, or when the signal is aborted.
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
    // Only the end of the process ends it early.
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
      // The calls that wait have deadlines.
      for (const waiting of due) waiting.checkAt = this.#clock.monotonic() + retryAfter;
    }
  }
}

// Polls long-running cloud operations by their IDs. All due operations are checked together, and no worker waits for them.
// Operations are only in memory: after a restart, the controller observes the cloud instead.

import { backoffAfter, isAccountWide, isFenced } from "../cloud/error-policies.ts";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import { messageOf } from "../core/errors.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { CloudError } from "../provider/errors.ts";
import type { Done, OperationState, Pending } from "../provider/plan.ts";
import type { Note } from "./node-deps.ts";

export interface OperationDeps {
  /** Undefined if the cloud has no operation IDs. */
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** For the log. */
  readonly note: Note;
}

/** Running, unknown to the cloud, done, or the error that it failed with. */
export type OperationUpdate = "pending" | "lost" | Done | CloudError;

interface Operation {
  readonly id: string;
  checkAt: number;
  update: OperationUpdate;
}

/** Most cloud errors do not recur at the next attempt. */
const failuresBeforeReport = 3;

/** Operations that are due this soon after another one are checked together with it. */
const batchWindow: Milliseconds = milliseconds(100);

export class Operations {
  readonly #deps: OperationDeps;
  /** Called with the key of an operation that has an update. */
  readonly #enqueue: (key: string) => void;
  readonly #operations = new Map<string, Operation>();
  #signal: AbortSignal | undefined;
  #cancelCheck: (() => void) | undefined;
  #isChecking = false;
  #failures = 0;
  #problem: unknown;
  #isNoted = false;

  constructor(deps: OperationDeps, enqueue: (key: string) => void) {
    this.#deps = deps;
    this.#enqueue = enqueue;
  }

  /** Why no operation could be checked for several attempts; undefined while checks succeed. */
  get problem(): unknown {
    return this.#problem;
  }

  /** The keys of operations that are running or have an update. */
  get keys(): Iterable<string> {
    return this.#operations.keys();
  }

  /** Starts polling. */
  begin(until: AbortSignal): void {
    this.#signal = until;
    this.#failures = 0;
    this.#problem = undefined;
    this.#scheduleCheck();
  }

  /** Stops polling and forgets all operations. */
  end(): void {
    this.#signal = undefined;
    this.#cancelCheck?.();
    this.#operations.clear();
  }

  /** Returns false if this cloud has no operation ids; the result must then be observed. */
  track(key: string, id: string, checkAfter: Milliseconds): boolean {
    const { pending, clock } = this.#deps;
    if (pending === undefined) return false;
    this.#operations.set(key, { id, checkAt: clock.monotonic() + checkAfter, update: "pending" });
    this.#scheduleCheck();
    return true;
  }

  /** Returns the update of this key's operation. An operation that is no longer pending is then forgotten. */
  take(key: string): OperationUpdate | undefined {
    const update = this.#operations.get(key)?.update;
    if (update !== undefined && update !== "pending") this.#operations.delete(key);
    return update;
  }

  #running(): readonly (readonly [string, Operation])[] {
    return [...this.#operations].filter(([, { update }]) => update === "pending");
  }

  #scheduleCheck(): void {
    const { clock } = this.#deps;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    const times = this.#running().map(([, { checkAt }]) => checkAt);
    if (times.length === 0 || this.#isChecking || this.#signal === undefined || this.#signal.aborted) return;
    const delay = Math.max(0, Math.min(...times) - clock.monotonic());
    this.#cancelCheck = clock.after(milliseconds(delay + batchWindow), () => void this.#check());
  }

  async #check(): Promise<void> {
    const { pending, clock, random, note } = this.#deps;
    const signal = this.#signal;
    if (pending === undefined || signal === undefined) return;
    this.#isChecking = true;
    const due = this.#running().filter(([, { checkAt }]) => checkAt <= clock.monotonic());
    try {
      for (let at = 0; at < due.length; at += pending.limit) {
        const batch = due.slice(at, at + pending.limit);
        // Several keys may wait for the same operation.
        const ids = [...new Set(batch.map(([, { id }]) => id))];
        const outcomes = await pending.check(ids, { signal, urgency: "user-change" });
        for (const [key, operation] of batch) this.#record(key, operation, outcomes.get(operation.id));
      }
      if (this.#isNoted) note("The operations of the cloud can be checked again", {});
      this.#isNoted = false;
      this.#failures = 0;
      this.#setProblem(undefined);
    } catch (error) {
      this.#failures += 1;
      if (!signal.aborted) this.#noteFailure(error, due);
      const isLasting = this.#failures >= failuresBeforeReport;
      if (isLasting && !signal.aborted && !isFenced(error)) this.#setProblem(error);
      const delay = backoffAfter(error, this.#failures, clock, random);
      for (const [, operation] of due) {
        if (operation.update === "pending") operation.checkAt = clock.monotonic() + delay;
      }
    } finally {
      this.#isChecking = false;
      this.#scheduleCheck();
    }
  }

  /** Once until a check succeeds. What concerns the whole account is logged for the account. */
  #noteFailure(error: unknown, due: readonly (readonly [string, Operation])[]): void {
    if (this.#isNoted || isAccountWide(error) || isFenced(error)) return;
    this.#isNoted = true;
    const ids = [...new Set(due.map(([, { id }]) => id))];
    const operations =
      ids.length > 3 ? `${ids.slice(0, 3).join(", ")} and ${ids.length - 3} more` : ids.join(", ");
    this.#deps.note(
      `Cannot check the operations of the cloud, so their changes stay pending. Fairlead will retry. ${messageOf(error)}`,
      { operations },
    );
  }

  #record(key: string, operation: Operation, outcome: OperationState | CloudError | undefined): void {
    if (outcome !== undefined && !CloudError.is(outcome) && !outcome.done) {
      operation.checkAt = this.#deps.clock.monotonic() + outcome.checkAfter;
      return;
    }
    operation.update = outcome ?? "lost";
    this.#enqueue(key);
  }

  /** Enqueues every waiting key, so that it can report the problem or its end. */
  #setProblem(problem: unknown): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    for (const [key] of this.#running()) this.#enqueue(key);
  }
}

// Polls long-running cloud operations by their IDs. All due operations are checked together, and no worker waits for them.
// Operations exist only in memory: after a restart, the controller observes the cloud instead.

import { backoffAfter, isAccountWide, isFenced } from "../cloud/error-policies.ts";
import { type Milliseconds, milliseconds, minutes, seconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import { messageOf } from "../core/error-message.ts";
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
  /** Writes to the log. */
  readonly note: Note;
}

/** Running, unknown to the cloud, done, or failed with an error. */
export type OperationUpdate = "pending" | "lost" | Done | CloudError;

interface Operation {
  readonly id: string;
  /** Since when the operation is known to run (monotonic): its start, or the end of failed checks. */
  since: number;
  checkAt: number;
  update: OperationUpdate;
  /** The number of consecutive failed checks. */
  failures: number;
  problem: unknown;
  /** Set when the operation runs for too long. */
  hanging: CloudError | undefined;
}

type Keyed = readonly [key: string, operation: Operation];

/** Most cloud errors do not recur in the next attempt. */
const failuresBeforeReport = 3;

/** A single operation may be impossible to check. When two requests fail in a row, further requests would probably fail too. */
const failuresBeforePause = 2;

/** Operations that are due within this time are checked together. */
const batchWindow: Milliseconds = milliseconds(100);

/** An operation that runs longer is reported on its objects. */
const hangsAfter: Milliseconds = minutes(15);

export class Operations {
  readonly #deps: OperationDeps;
  /** Called with the key of an operation that has an update. */
  readonly #enqueue: (key: string) => void;
  readonly #operations = new Map<string, Operation>();
  #signal: AbortSignal | undefined;
  #cancelCheck: (() => void) | undefined;
  #isChecking = false;
  #isNoted = false;

  constructor(deps: OperationDeps, enqueue: (key: string) => void) {
    this.#deps = deps;
    this.#enqueue = enqueue;
  }

  /** Why this key's operation could not be checked in several attempts, or that it runs for too long. */
  problemOf(key: string): unknown {
    return this.#operations.get(key)?.problem;
  }

  /** Starts polling. */
  begin(until: AbortSignal): void {
    this.#signal = until;
    this.#scheduleCheck();
  }

  /** Stops polling and forgets all operations. */
  end(): void {
    this.#signal = undefined;
    this.#cancelCheck?.();
    this.#operations.clear();
  }

  /**
   * Returns false if this cloud has no operation ids; the result must then be observed. `since`: the start, if an earlier
   * session started the operation (monotonic).
   */
  track(
    key: string,
    id: string,
    checkAfter: Milliseconds,
    since: number = this.#deps.clock.monotonic(),
  ): boolean {
    const { pending, clock } = this.#deps;
    if (pending === undefined) return false;
    const checkAt = clock.monotonic() + checkAfter;
    this.#operations.set(key, {
      id,
      since,
      checkAt,
      update: "pending",
      failures: 0,
      problem: undefined,
      hanging: undefined,
    });
    this.#scheduleCheck();
    return true;
  }

  /** Returns the update of this key's operation, and forgets operations that have ended. */
  take(key: string): OperationUpdate | undefined {
    const update = this.#operations.get(key)?.update;
    if (update !== undefined && update !== "pending") this.#operations.delete(key);
    return update;
  }

  #running(): readonly Keyed[] {
    return [...this.#operations].filter(([, { update }]) => update === "pending");
  }

  #scheduleCheck(): void {
    const { clock } = this.#deps;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    if (this.#isChecking) return;
    const times = this.#running().map(([, { checkAt }]) => checkAt);
    if (times.length === 0 || this.#signal === undefined || this.#signal.aborted) return;
    // However many operations begin in the meantime, the first one is checked in time.
    const delay = Math.max(0, Math.min(...times) + batchWindow - clock.monotonic());
    this.#cancelCheck = clock.after(milliseconds(delay), () => void this.#checkDue());
  }

  async #checkDue(): Promise<void> {
    const { pending, clock } = this.#deps;
    const signal = this.#signal;
    if (pending === undefined || signal === undefined) return;
    const now = clock.monotonic();
    const due = this.#running().filter(([, { checkAt }]) => checkAt <= now);
    this.#isChecking = true;
    try {
      let failuresInARow = 0;
      for (let at = 0; at < due.length && !signal.aborted; at += pending.limit) {
        const error = await this.#checkBatch(due.slice(at, at + pending.limit), pending, signal);
        failuresInARow = error === undefined ? 0 : failuresInARow + 1;
        if (error === undefined || (failuresInARow < failuresBeforePause && !concernsAll(error))) continue;
        this.#postpone(due.slice(at + pending.limit), error, failuresInARow);
        break;
      }
    } finally {
      this.#isChecking = false;
      this.#noteSuccess();
      this.#scheduleCheck();
    }
  }

  /** Returns the failed check's error, if any. */
  async #checkBatch(batch: readonly Keyed[], pending: Pending, signal: AbortSignal): Promise<unknown> {
    // Several keys may wait for the same operation.
    const ids = [...new Set(batch.map(([, { id }]) => id))];
    try {
      const outcomes = await pending.check(ids, { signal, urgency: "user-change" });
      for (const [key, operation] of batch) {
        if (operation.failures > 0) operation.since = this.#deps.clock.monotonic();
        operation.failures = 0;
        this.#record(key, operation, outcomes.get(operation.id));
      }
      return undefined;
    } catch (error) {
      if (signal.aborted) return error;
      this.#noteFailure(error, ids);
      for (const [key, operation] of batch) {
        operation.failures += 1;
        const isLasting = operation.failures >= failuresBeforeReport && !isFenced(error);
        if (isLasting) this.#setProblem(key, operation, error);
      }
      this.#postpone(batch, error, Math.max(...batch.map(([, { failures }]) => failures)));
      return error;
    }
  }

  #postpone(operations: readonly Keyed[], error: unknown, failures: number): void {
    const { clock, random } = this.#deps;
    const checkAt = clock.monotonic() + backoffAfter(error, failures, clock, random);
    for (const [, operation] of operations) if (operation.update === "pending") operation.checkAt = checkAt;
  }

  /** Logs once until all checks succeed. Account-wide failures are logged for the account. */
  #noteFailure(error: unknown, ids: readonly string[]): void {
    if (this.#isNoted || isAccountWide(error) || isFenced(error)) return;
    this.#isNoted = true;
    this.#deps.note(`Cannot check the cloud operations, so their changes stay pending: ${messageOf(error)}`, {
      operations: ids.length,
    });
  }

  #noteSuccess(): void {
    if (!this.#isNoted || this.#running().some(([, { failures }]) => failures > 0)) return;
    this.#isNoted = false;
    this.#deps.note("The cloud operations can be checked again", {});
  }

  #record(key: string, operation: Operation, outcome: OperationState | CloudError | undefined): void {
    if (outcome !== undefined && !CloudError.is(outcome) && !outcome.done) {
      const now = this.#deps.clock.monotonic();
      const waited = milliseconds(now - operation.since);
      operation.checkAt = now + slowerCheck(waited, outcome.checkAfter);
      if (waited >= hangsAfter) operation.hanging ??= hangingError(outcome.waitingFor);
      this.#setProblem(key, operation, waited >= hangsAfter ? operation.hanging : undefined);
      return;
    }
    this.#setProblem(key, operation, undefined);
    operation.update = outcome ?? "lost";
    this.#enqueue(key);
  }

  /** Enqueues the key, so that it can report the problem or its end. */
  #setProblem(key: string, operation: Operation, problem: unknown): void {
    if (problem === operation.problem) return;
    operation.problem = problem;
    this.#enqueue(key);
  }
}

function hangingError(waitingFor: string): CloudError {
  const text = `Fairlead has waited for ${waitingFor} for more than ${formatDuration(hangsAfter)}. Until that ends, nothing else of this object is changed. If it does not end, ask the support of the cloud.`;
  return new CloudError("busy", text, { operation: "Pending.check" });
}

/** Whether other requests would fail, too. */
function concernsAll(error: unknown): boolean {
  return isAccountWide(error) || isFenced(error) || (CloudError.is(error) && error.kind === "rate-limited");
}

/** A slow cloud is checked less often: the delay is at most a tenth of the time already waited. */
const checksPerWait = 10;
const maxCheckDelay: Milliseconds = seconds(30);

/** The delay before the next check, which is at least the delay that the provider requests. */
export function slowerCheck(waited: Milliseconds, checkAfter: Milliseconds): Milliseconds {
  return milliseconds(Math.max(checkAfter, Math.min(maxCheckDelay, waited / checksPerWait)));
}

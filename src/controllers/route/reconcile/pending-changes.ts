// Route changes that the cloud has accepted but not completed. Each is held back until its operation ends, or until
// the cloud's retry delay is over. Nothing outlives a leadership session: the next one observes the table.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type OperationDeps, Operations } from "../../operations.ts";
import type { RouteBackoffs } from "../apply/backoffs.ts";
import { type ChangeOutcome, keyOf, type RouteChange } from "../plan/route-change.ts";
import type { UncheckedChange } from "../status/route-reporter.ts";

type PendingOutcome = Extract<ChangeOutcome, { readonly kind: "pending" }>;

export interface FailedChange {
  readonly change: RouteChange;
  readonly error: unknown;
  readonly took: Milliseconds;
}

/** The update of a polled operation ends the backoff. */
const untilUpdate: Milliseconds = milliseconds(Number.POSITIVE_INFINITY);

export class PendingChanges {
  readonly #deps: OperationDeps;
  readonly #backoffs: RouteBackoffs;
  readonly #operations: Operations;
  readonly #polled = new Map<string, { readonly change: RouteChange; readonly began: number }>();

  /** `onUpdate`: a polled operation has an update. */
  constructor(deps: OperationDeps, backoffs: RouteBackoffs, onUpdate: () => void) {
    this.#deps = deps;
    this.#backoffs = backoffs;
    this.#operations = new Operations(deps, onUpdate);
  }

  begin(signal: AbortSignal): void {
    this.#operations.begin(signal);
  }

  end(): void {
    for (const { change } of this.#polled.values()) this.#backoffs.clear(change);
    this.#polled.clear();
    this.#operations.end();
  }

  add(change: RouteChange, { operation, checkAfter }: PendingOutcome): void {
    const key = keyOf(change);
    const isPolled = operation !== undefined && this.#operations.track(key, operation, checkAfter);
    this.#backoffs.wait(change, isPolled ? untilUpdate : checkAfter);
    if (isPolled) this.#polled.set(key, { change, began: this.#deps.clock.monotonic() });
  }

  /** Takes the updates since the last call: the changes that failed or are done, and whether any ended. */
  takeUpdates(): {
    readonly failed: readonly FailedChange[];
    readonly done: readonly RouteChange[];
    readonly hasEnded: boolean;
  } {
    const failed: FailedChange[] = [];
    const done: RouteChange[] = [];
    let hasEnded = false;
    for (const [key, { change, began }] of this.#polled) {
      const update = this.#operations.take(key);
      if (update === undefined || update === "pending") continue;
      hasEnded = true;
      this.#polled.delete(key);
      if (CloudError.is(update)) {
        const took = milliseconds(this.#deps.clock.monotonic() - began);
        failed.push({ change, error: update, took });
      } else {
        this.#backoffs.clear(change);
        if (update !== "lost") done.push(change);
      }
    }
    return { failed, done, hasEnded };
  }

  /** Whether the cloud still works on a change. */
  get isBusy(): boolean {
    return this.#polled.size > 0;
  }

  get unchecked(): readonly UncheckedChange[] {
    return [...this.#polled].flatMap(([key, { change }]) => {
      const error = this.#operations.problemOf(key);
      return error === undefined ? [] : [{ change, error }];
    });
  }
}

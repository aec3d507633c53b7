// The route changes that are not done: those that back off after a failure, and those that the cloud has accepted and still works on. Each
// is held back separately, so that one route does not delay the others. A change to a new target starts without a backoff. Nothing outlives
// a leadership session: the next one observes the table.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type OperationDeps, Operations } from "../../operations.ts";
import {
  type ChangeOutcome,
  type ChangeResult,
  keyOf,
  leadsTo,
  type RouteChange,
} from "../plan/route-change.ts";

/** Why a change must not be sent now. */
export type HeldBack = "failed" | "waiting";

interface OpenChange {
  readonly change: RouteChange;
  /** What is held back, as text; a different change is not. */
  readonly about: string;
  readonly kind: HeldBack;
  readonly until: number;
  readonly failures: number;
  /** Since when its operation is polled, whose end ends the wait (monotonic). */
  readonly polledSince?: number | undefined;
}

const untilUpdate = milliseconds(Number.POSITIVE_INFINITY);

export class OpenChanges {
  readonly #deps: OperationDeps;
  readonly #operations: Operations;
  readonly #changes = new Map<string, OpenChange>();

  /** `onUpdate`: a polled operation has an update. */
  constructor(deps: OperationDeps, onUpdate: () => void) {
    this.#deps = deps;
    this.#operations = new Operations(deps, onUpdate);
  }

  begin(signal: AbortSignal): void {
    this.#operations.begin(signal);
  }

  end(): void {
    for (const { change } of this.#polled) this.clear(change);
    this.#operations.end();
  }

  /** Undefined when the change may be sent now. */
  of(change: RouteChange): HeldBack | undefined {
    const open = this.#find(change);
    return open !== undefined && open.until > this.#deps.clock.monotonic() ? open.kind : undefined;
  }

  failuresOf(change: RouteChange): number {
    return this.#find(change)?.failures ?? 0;
  }

  failed(change: RouteChange, delay: Milliseconds): void {
    this.#set(change, "failed", delay);
  }

  wait(change: RouteChange, delay: Milliseconds): void {
    this.#set(change, "waiting", delay);
  }

  /** The cloud has accepted it but not completed it. */
  accepted(
    change: RouteChange,
    { operation, checkAfter }: Extract<ChangeOutcome, { readonly kind: "pending" }>,
  ): void {
    if (operation !== undefined && this.#operations.track(keyOf(change), operation, checkAfter))
      this.#set(change, "waiting", untilUpdate, this.#deps.clock.monotonic());
    else this.wait(change, checkAfter);
  }

  clear(change: RouteChange): void {
    this.#changes.delete(keyOf(change));
  }

  /** Forgets changes that are no longer planned, unless the cloud works on them. */
  keepOnly(changes: readonly RouteChange[]): void {
    const keys = new Set(changes.map(keyOf));
    for (const [key, { polledSince }] of this.#changes)
      if (polledSince === undefined && !keys.has(key)) this.#changes.delete(key);
  }

  /**
   * When the first wait ends, monotonic; in the past if it ended during the sync that began then, which may not have sent the
   * change. One that ended before without an attempt waits for another change, such as the removal of a route in its way. It
   * must not cause a sync, or syncs would never stop.
   */
  nextAfter(began: number): number | undefined {
    const times = [...this.#changes.values()].flatMap(({ until }) => (until > began ? until : []));
    return times.length === 0 ? undefined : times.reduce((first, at) => Math.min(first, at));
  }

  /** Takes the changes whose operations have ended since the last call: done, failed or lost. */
  takeEnded(): readonly ChangeResult[] {
    return this.#polled.flatMap(({ change, polledSince = 0 }): readonly ChangeResult[] => {
      const update = this.#operations.take(keyOf(change));
      if (update === undefined || update === "pending") return [];
      if (!CloudError.is(update)) {
        this.clear(change);
        return [{ change, outcome: { kind: update === "lost" ? "lost" : "done" } }];
      }
      // Its failure is counted by the caller, together with earlier ones.
      this.wait(change, milliseconds(0));
      const took = milliseconds(this.#deps.clock.monotonic() - polledSince);
      return [{ change, outcome: { kind: "failed", error: update, took } }];
    });
  }

  /** Whether the cloud still works on a change. */
  get isBusy(): boolean {
    return this.#polled.length > 0;
  }

  /** Changes in progress that cannot be checked, and why. */
  get unchecked(): readonly { readonly change: RouteChange; readonly error: unknown }[] {
    return this.#polled.flatMap(({ change }) => {
      const error = this.#operations.problemOf(keyOf(change));
      return error === undefined ? [] : [{ change, error }];
    });
  }

  get #polled(): readonly OpenChange[] {
    return [...this.#changes.values()].filter(({ polledSince }) => polledSince !== undefined);
  }

  #find(change: RouteChange): OpenChange | undefined {
    const open = this.#changes.get(keyOf(change));
    return open?.about === aboutOf(change) ? open : undefined;
  }

  #set(change: RouteChange, kind: HeldBack, delay: Milliseconds, polledSince?: number): void {
    const until = this.#deps.clock.monotonic() + delay;
    const failures = this.failuresOf(change) + (kind === "failed" ? 1 : 0);
    this.#changes.set(keyOf(change), { change, about: aboutOf(change), kind, until, failures, polledSince });
  }
}

function aboutOf(change: RouteChange): string {
  if (change.do === "remove") return change.route.destination;
  return `${change.route.target.uid} ${leadsTo(change.route)}`;
}

// The route changes that are not done: those that back off after a failure, and those that the cloud has accepted and still works on. Each
// is held back separately, so that one route does not delay the others. A change to a new target starts without a backoff. Nothing outlives
// a leadership session: the next one observes the table.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import { type OperationDeps, Operations } from "../../operations.ts";
import { type ChangeOutcome, keyOf, leadsTo, type RouteChange } from "../plan/route-change.ts";

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
  readonly polledSince?: number;
}

export interface EndedChanges {
  readonly failed: readonly {
    readonly change: RouteChange;
    readonly error: CloudError;
    readonly took: Milliseconds;
  }[];
  readonly done: readonly RouteChange[];
  /** The cloud does not say how they ended. */
  readonly lost: readonly RouteChange[];
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
    this.#set(change, "failed", delay, { failures: this.failuresOf(change) + 1 });
  }

  wait(change: RouteChange, delay: Milliseconds): void {
    this.#set(change, "waiting", delay, { failures: this.failuresOf(change) });
  }

  /** The cloud has accepted it but not completed it. */
  accepted(change: RouteChange, outcome: Extract<ChangeOutcome, { readonly kind: "pending" }>): void {
    const { operation, checkAfter } = outcome;
    const failures = this.failuresOf(change);
    if (operation === undefined || !this.#operations.track(keyOf(change), operation, checkAfter))
      this.#set(change, "waiting", checkAfter, { failures });
    else {
      const polledSince = this.#deps.clock.monotonic();
      this.#set(change, "waiting", untilUpdate, { failures, polledSince });
    }
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

  /** Takes the changes whose operations have ended since the last call. */
  takeEnded(): EndedChanges {
    const failed: EndedChanges["failed"][number][] = [];
    const done: RouteChange[] = [];
    const lost: RouteChange[] = [];
    for (const { change, polledSince = 0 } of this.#polled) {
      const update = this.#operations.take(keyOf(change));
      if (update === undefined || update === "pending") continue;
      if (CloudError.is(update)) {
        // Its failure is counted by the caller, together with earlier ones.
        this.wait(change, milliseconds(0));
        const took = milliseconds(this.#deps.clock.monotonic() - polledSince);
        failed.push({ change, error: update, took });
      } else {
        this.clear(change);
        (update === "lost" ? lost : done).push(change);
      }
    }
    return { failed, done, lost };
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

  #set(
    change: RouteChange,
    kind: HeldBack,
    delay: Milliseconds,
    more: Pick<OpenChange, "failures" | "polledSince">,
  ): void {
    const until = this.#deps.clock.monotonic() + delay;
    this.#changes.set(keyOf(change), { change, about: aboutOf(change), kind, until, ...more });
  }
}

function aboutOf(change: RouteChange): string {
  if (change.do === "remove") return change.route.destination;
  return `${change.route.target.uid} ${leadsTo(change.route)}`;
}

// Route changes that are not complete: they back off after a failure, or the cloud is still processing them. Each waits
// separately, so that one route does not delay others; a new target resets the backoff. A leadership session starts with the
// operations that the previous session of this process left open.

import type { RouteChange } from "../../../cloud/own-route-changes.ts";
import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { type OperationDeps, Operations } from "../../operations.ts";
import type { OpenOperation, TableHistory } from "../history.ts";

export type { RouteChange } from "../../../cloud/own-route-changes.ts";

export type ChangeOutcome =
  | { readonly kind: "done" }
  /** Observe mode: recorded in the journal, and treated as done. */
  | { readonly kind: "observed" }
  /** The cloud has accepted the change but not completed it. If there is an operation id, it is polled. */
  | { readonly kind: "pending"; readonly checkAfter: Milliseconds; readonly operation?: string }
  | { readonly kind: "failed"; readonly error: unknown; readonly took: Milliseconds }
  /** The operation ended, and the cloud does not report its result. */
  | { readonly kind: "lost" }
  /** Stopped by the leadership fence, which is not a failure. */
  | { readonly kind: "fenced" }
  /** The change was not sent. */
  | { readonly kind: HeldBack };

/** `held`: the change backs off after a failure, or another route blocks it. `waiting`: the cloud is still processing it. */
export type HeldBack = "held" | "waiting";

export interface ChangeResult {
  readonly change: RouteChange;
  readonly outcome: ChangeOutcome;
}

/** The cloud rejected the change because it is processing another change. */
export const isRefusedAsBusy = (outcome: ChangeOutcome): boolean =>
  outcome.kind === "failed" && CloudError.is(outcome.error) && outcome.error.kind === "busy";

/** Identifies a change from one sync to the next. */
export function changeKeyOf(change: RouteChange): string {
  return change.do === "create"
    ? `create ${change.route.destination} for ${change.route.target.node}`
    : `remove ${change.route.handle}`;
}

/** Where a route leads, as text. A route to a new target is a different change. */
export function leadsTo({ target: { machine, addresses } }: DesiredRoute): string {
  return JSON.stringify([machine?.source, machine?.key, addresses]);
}

interface OpenChange {
  readonly change: RouteChange;
  /** The held change as text; a different change is not held. */
  readonly about: string;
  readonly kind: HeldBack;
  readonly until: number;
  readonly failures: number;
  /** The operation being polled, whose end ends the wait. */
  readonly operation?: OpenOperation | undefined;
}

interface OpenChangesDeps extends OperationDeps {
  readonly history: Pick<TableHistory, "operations">;
}

const untilUpdate = milliseconds(Number.POSITIVE_INFINITY);

export class OpenChanges {
  readonly #deps: OpenChangesDeps;
  readonly #operations: Operations;
  readonly #changes = new Map<string, OpenChange>();

  /** `onUpdate`: called when a polled operation has an update. */
  constructor(deps: OpenChangesDeps, onUpdate: () => void) {
    this.#deps = deps;
    this.#operations = new Operations(deps, onUpdate);
  }

  /** Polls operations until the signal is aborted, including those of an earlier session. Returns a function that stops this. */
  start(signal: AbortSignal): () => void {
    this.#operations.begin(signal);
    for (const operation of [...this.#deps.history.operations.values()])
      this.#poll(operation, milliseconds(0));
    return () => this.#operations.end();
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
    this.#set(change, "held", delay);
  }

  wait(change: RouteChange, delay: Milliseconds): void {
    this.#set(change, "waiting", delay);
  }

  /** The cloud has accepted the change but not completed it. */
  accepted(
    change: RouteChange,
    { operation, checkAfter }: Extract<ChangeOutcome, { readonly kind: "pending" }>,
  ): void {
    const since = this.#deps.clock.monotonic();
    if (operation === undefined || !this.#poll({ change, id: operation, since }, checkAfter))
      this.wait(change, checkAfter);
  }

  /** Returns false if this cloud has no operation ids. */
  #poll(operation: OpenOperation, checkAfter: Milliseconds): boolean {
    const { change, id, since } = operation;
    if (!this.#operations.track(changeKeyOf(change), id, checkAfter, since)) return false;
    this.#set(change, "waiting", untilUpdate, operation);
    return true;
  }

  clear(change: RouteChange): void {
    this.#changes.delete(changeKeyOf(change));
    this.#deps.history.operations.delete(changeKeyOf(change));
  }

  /** Forgets changes that are no longer planned, unless the cloud is processing them. */
  keepOnly(changes: readonly RouteChange[]): void {
    const keys = new Set(changes.map(changeKeyOf));
    for (const [key, { operation }] of this.#changes)
      if (operation === undefined && !keys.has(key)) this.#changes.delete(key);
  }

  /**
   * When the first wait ends (monotonic); in the past if it ended during the sync that began then, which may not have sent the
   * change. A change that ended without an attempt waits for another change, such as the removal of a conflicting route. It must
   * not cause a sync, or syncs would never stop.
   */
  nextAfter(began: number): number | undefined {
    const times = [...this.#changes.values()].flatMap(({ until }) => (until > began ? until : []));
    return times.length === 0 ? undefined : times.reduce((first, at) => Math.min(first, at));
  }

  /** Takes the changes whose operations have ended since the last call: done, failed or lost. */
  takeEnded(): readonly ChangeResult[] {
    const ended = this.#polled.flatMap(({ change, since }): readonly ChangeResult[] => {
      const update = this.#operations.take(changeKeyOf(change));
      if (update === undefined || update === "pending") return [];
      if (!CloudError.is(update)) {
        this.clear(change);
        return [{ change, outcome: { kind: update === "lost" ? "lost" : "done" } }];
      }
      // The caller counts this failure together with earlier failures.
      this.wait(change, milliseconds(0));
      const took = milliseconds(this.#deps.clock.monotonic() - since);
      return [{ change, outcome: { kind: "failed", error: update, took } }];
    });
    // The possible effect of a lost request is recorded last, because the end of another change for its range would clear it.
    return ended.toSorted((one, other) => orderOf(one) - orderOf(other));
  }

  /** Whether the cloud is still processing a change. */
  get isBusy(): boolean {
    return this.#polled.length > 0;
  }

  /** Changes in progress that cannot be checked, with the reason. */
  get unchecked(): readonly { readonly change: RouteChange; readonly error: unknown }[] {
    return this.#polled.flatMap(({ change }) => {
      const error = this.#operations.problemOf(changeKeyOf(change));
      return error === undefined ? [] : [{ change, error }];
    });
  }

  get #polled(): readonly OpenOperation[] {
    return [...this.#changes.values()].flatMap(({ operation }) => operation ?? []);
  }

  #find(change: RouteChange): OpenChange | undefined {
    const open = this.#changes.get(changeKeyOf(change));
    return open?.about === aboutOf(change) ? open : undefined;
  }

  #set(change: RouteChange, kind: HeldBack, delay: Milliseconds, operation?: OpenOperation): void {
    const { clock, history } = this.#deps;
    const key = changeKeyOf(change);
    const until = clock.monotonic() + delay;
    const failures = this.failuresOf(change) + (kind === "held" ? 1 : 0);
    this.#changes.set(key, { change, about: aboutOf(change), kind, until, failures, operation });
    if (operation === undefined) history.operations.delete(key);
    else history.operations.set(key, operation);
  }
}

const orderOf = ({ outcome }: ChangeResult): number => ["failed", "done", "lost"].indexOf(outcome.kind);

function aboutOf(change: RouteChange): string {
  if (change.do === "remove") return change.route.destination;
  return `${change.route.target.uid} ${leadsTo(change.route)}`;
}

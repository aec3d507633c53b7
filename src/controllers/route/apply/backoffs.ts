// Holds back route changes after a failure, or while the cloud works on them: each separately, so that one failing
// route does not delay the others. A change to a new target starts without a backoff.

import type { Milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import { keyOf, type RouteChange } from "../plan/route-change.ts";

export type BackoffKind = "failed" | "waiting";

interface Backoff {
  /** The change that the backoff applies to, as text; it does not apply to a different change. */
  readonly about: string;
  readonly kind: BackoffKind;
  readonly until: number;
  readonly failures: number;
}

export class RouteBackoffs {
  readonly #clock: Clock;
  readonly #backoffs = new Map<string, Backoff>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why the change must not be sent now; undefined when it may be sent. */
  of(change: RouteChange): BackoffKind | undefined {
    const backoff = this.#find(change);
    return backoff !== undefined && backoff.until > this.#clock.monotonic() ? backoff.kind : undefined;
  }

  failuresOf(change: RouteChange): number {
    return this.#find(change)?.failures ?? 0;
  }

  failed(change: RouteChange, delay: Milliseconds): void {
    this.#set(change, "failed", delay, this.failuresOf(change) + 1);
  }

  wait(change: RouteChange, delay: Milliseconds): void {
    this.#set(change, "waiting", delay, this.failuresOf(change));
  }

  clear(change: RouteChange): void {
    this.#backoffs.delete(keyOf(change));
  }

  /** Forgets changes that are no longer planned. */
  keepOnly(changes: readonly RouteChange[]): void {
    const keys = new Set(changes.map(keyOf));
    for (const key of this.#backoffs.keys()) if (!keys.has(key)) this.#backoffs.delete(key);
  }

  /**
   * When the first backoff ends, monotonic; in the past if it ended during the sync that began then, which may not have sent the
   * change. One that ended before without an attempt waits for another change, such as the removal of a route in its way. It
   * must not cause a sync, or syncs would never stop.
   */
  nextAfter(began: number): number | undefined {
    let next: number | undefined;
    for (const { until } of this.#backoffs.values()) {
      if (until > began && (next === undefined || until < next)) next = until;
    }
    return next;
  }

  #find(change: RouteChange): Backoff | undefined {
    const backoff = this.#backoffs.get(keyOf(change));
    return backoff?.about === aboutOf(change) ? backoff : undefined;
  }

  #set(change: RouteChange, kind: BackoffKind, delay: Milliseconds, failures: number): void {
    const until = this.#clock.monotonic() + delay;
    this.#backoffs.set(keyOf(change), { about: aboutOf(change), kind, until, failures });
  }
}

function aboutOf(change: RouteChange): string {
  if (change.do === "remove") return change.route.destination;
  const { uid, machine, addresses } = change.route.target;
  return JSON.stringify([uid, machine?.source, machine?.key, addresses]);
}

// Data that the provider prefetches for plans. Plans with the same needs share the data for a minute, or for ten seconds
// while a plan waits for a change in it. A failure is shared until its backoff ends, so that a failing cloud gets
// one request instead of one per Service.

import { minutes, seconds } from "../../core/brand.ts";
import type { Fields } from "../../core/settings.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Call } from "../../provider/call.ts";
import type {
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from "../../provider/load-balancers.ts";
import type { Step } from "../../provider/plan.ts";
import { backoff } from "../../runtime/backoff.ts";
import { isFenced } from "../error-policies.ts";

type Desired = DesiredLoadBalancer<Fields>;
type Balancers = Pick<LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>, "prefetch" | "prefetchKey">;

export interface SharedPrefetchOptions {
  readonly balancers: Balancers;
  readonly clock: Clock;
  readonly random: Random;
}

const acceptsAge = minutes(1);
const retry = { first: seconds(1), cap: acceptsAge };

interface Prefetched {
  readonly value: Promise<unknown>;
  readonly beganAt: number;
  state: "pending" | "ready" | "failed";
  /** When the data is fetched again (monotonic). */
  until: number;
  /** Consecutive failures. */
  failures: number;
}

/** If undefined, the content of the Service does not matter, for example because the Service is being deleted. */
export function prefetchKeyOf(
  { prefetchKey }: Pick<Balancers, "prefetchKey">,
  desired: Desired | undefined,
): string | undefined {
  if (desired === undefined || desired.ending !== undefined) return undefined;
  return prefetchKey === undefined ? "" : prefetchKey(desired);
}

/** Prefetches for one plan without sharing the result. */
export function prefetchAlone(balancers: Balancers, desired: Desired, call: Call): Promise<unknown> {
  return balancers.prefetch?.(prefetchKeyOf(balancers, desired) ?? "", call) ?? Promise.resolve();
}

export class SharedPrefetch {
  readonly #options: SharedPrefetchOptions;
  readonly #latest = new Map<string, Prefetched>();

  constructor(options: SharedPrefetchOptions) {
    this.#options = options;
  }

  /**
   * A value that was requested before the Service was changed (`changedAt`, monotonic) may lack objects to which the Service
   * refers. A Service without references gets any value.
   */
  current(desired: Desired | undefined, changedAt: number, call: Call): Promise<unknown> {
    const { balancers, clock } = this.#options;
    if (balancers.prefetch === undefined) return Promise.resolve(undefined);
    const now = clock.monotonic();
    const key = prefetchKeyOf(balancers, desired);
    const isReady = ({ state, until }: Prefetched) => state === "ready" && now < until;
    const any = key === undefined ? this.#latest.values().find(isReady) : undefined;
    const latest = any ?? this.#latest.get(key ?? "");
    if (latest !== undefined && now < latest.until) {
      const isRecent = key === undefined || latest.beganAt >= changedAt;
      if (isRecent || latest.state === "failed") return latest.value;
      // One fetch at a time: its failure is shared, and all Services that arrive in the meantime share the next fetch.
      if (latest.state === "pending") return latest.value.then(() => this.current(desired, changedAt, call));
    }
    return this.#fetch(key ?? "", call);
  }

  /** Called after a step that changed the data. */
  forget(): void {
    this.#latest.clear();
  }

  /** Notes that a plan waits for something that a prefetch shows, such as a certificate. */
  noteWait(): void {
    const until = this.#options.clock.monotonic() + seconds(10);
    for (const one of this.#latest.values())
      if (one.state === "ready") one.until = Math.min(one.until, until);
  }

  #fetch(key: string, call: Call): Promise<unknown> {
    const { balancers, clock, random } = this.#options;
    const value = balancers.prefetch?.(key, call) ?? Promise.resolve();
    const failures = this.#latest.get(key)?.failures ?? 0;
    const beganAt = clock.monotonic();
    const next: Prefetched = { value, beganAt, state: "pending", until: Number.POSITIVE_INFINITY, failures };
    this.#latest.set(key, next);
    value.then(
      () => Object.assign(next, { state: "ready", until: beganAt + acceptsAge, failures: 0 }),
      (error: unknown) => {
        // In this case the cloud did not get the request, or nothing waited for its response.
        const isCancelled = call.signal.aborted || isFenced(error);
        const delay = backoff(failures + 1, retry, random);
        const until = isCancelled ? 0 : clock.monotonic() + delay;
        Object.assign(next, { state: "failed", until, failures: isCancelled ? failures : failures + 1 });
      },
    );
    return value;
  }
}

// What the provider prefetches for plans. Plans that need the same share it for a minute, or for ten seconds while a plan waits for
// it. A failure is shared too, until its backoff ends, so that a cloud that fails gets one request and not one per Service.

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
type Balancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

export interface SharedPrefetchOptions {
  readonly balancers: Pick<Balancers, "prefetch" | "prefetchKey">;
  readonly clock: Clock;
  readonly random: Random;
  /** All of a desired state that a plan may depend on. */
  readonly textOf: (desired: Desired) => string;
}

const acceptsAge = minutes(1);
const retry = { first: seconds(1), cap: acceptsAge };

interface Prefetched {
  readonly value: Promise<unknown>;
  /** The desired states that the value covers. */
  readonly covers: ReadonlySet<string>;
  state: "pending" | "ready" | "failed";
  /** When it is fetched again (monotonic). */
  until: number;
  /** In a row. */
  failures: number;
}

export class SharedPrefetch {
  readonly #options: SharedPrefetchOptions;
  readonly #latest = new Map<string, Prefetched>();

  constructor(options: SharedPrefetchOptions) {
    this.#options = options;
  }

  /** A value fetched without these desired states does not cover what they refer to. Those that leave refer to nothing. */
  current(desired: Desired | undefined, all: () => readonly Desired[], call: Call): Promise<unknown> {
    const { balancers, clock, textOf } = this.#options;
    if (balancers.prefetch === undefined) return Promise.resolve(undefined);
    const now = clock.monotonic();
    const staying = desired?.ending === undefined ? desired : undefined;
    const key = staying === undefined ? undefined : this.#keyOf(staying);
    const isReady = ({ state, until }: Prefetched) => state === "ready" && now < until;
    const any = key === undefined ? this.#latest.values().find(isReady) : undefined;
    const latest = any ?? this.#latest.get(key ?? "");
    if (latest !== undefined && now < latest.until) {
      const isCovered = staying === undefined || latest.covers.has(textOf(staying));
      if (isCovered || latest.state === "failed") return latest.value;
      // One at a time: its failure is shared, and all Services that have come meanwhile share the next one.
      if (latest.state === "pending") return latest.value.then(() => this.current(staying, all, call));
    }
    const covered = key === undefined ? [] : all().filter((one) => this.#keyOf(one) === key);
    return this.#fetch(key ?? "", covered, call);
  }

  /** After a step that changed it. */
  forget(): void {
    this.#latest.clear();
  }

  /** A plan waits for something that a prefetch shows, such as a certificate. */
  noteWait(): void {
    const until = this.#options.clock.monotonic() + seconds(10);
    for (const one of this.#latest.values())
      if (one.state === "ready") one.until = Math.min(one.until, until);
  }

  #keyOf(desired: Desired): string {
    return this.#options.balancers.prefetchKey?.(desired) ?? "";
  }

  #fetch(key: string, desired: readonly Desired[], call: Call): Promise<unknown> {
    const { balancers, clock, random, textOf } = this.#options;
    const value = balancers.prefetch?.(desired, call) ?? Promise.resolve();
    const covers = new Set(desired.map(textOf));
    const failures = this.#latest.get(key)?.failures ?? 0;
    const next: Prefetched = { value, covers, state: "pending", until: Number.POSITIVE_INFINITY, failures };
    this.#latest.set(key, next);
    const now = clock.monotonic();
    value.then(
      () => Object.assign(next, { state: "ready", until: now + acceptsAge, failures: 0 }),
      (error: unknown) => {
        // Then the cloud did not get the request, or its response was not awaited.
        const isCancelled = call.signal.aborted || isFenced(error);
        const delay = backoff(failures + 1, retry, random);
        const until = isCancelled ? 0 : clock.monotonic() + delay;
        Object.assign(next, { state: "failed", until, failures: isCancelled ? failures : failures + 1 });
      },
    );
    return value;
  }
}

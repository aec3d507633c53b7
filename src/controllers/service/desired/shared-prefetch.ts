// What the provider prefetches for plans. Plans that need the same share it for a minute, or for ten seconds while a plan waits for
// it. A failure is shared too, until its backoff ends, so that a cloud that fails gets one request and not one per Service.

import { isFenced } from "../../../cloud/error-policies.ts";
import { minutes, seconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { Call } from "../../../provider/call.ts";
import { backoff } from "../../../runtime/backoff.ts";
import type { AnyBalancers, Desired, ServiceControllerDeps } from "../deps.ts";
import { fingerprintOf } from "./difference.ts";

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
  readonly #balancers: AnyBalancers;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #latest = new Map<string, Prefetched>();

  constructor({ balancers, clock, random }: Pick<ServiceControllerDeps, "balancers" | "clock" | "random">) {
    this.#balancers = balancers;
    this.#clock = clock;
    this.#random = random;
  }

  /** A value fetched without these desired states does not cover what they refer to. Those that leave refer to nothing. */
  current(desired: Desired | undefined, all: () => readonly Desired[], call: Call): Promise<unknown> {
    if (this.#balancers.prefetch === undefined) return Promise.resolve(undefined);
    const now = this.#clock.monotonic();
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
    const until = this.#clock.monotonic() + seconds(10);
    for (const one of this.#latest.values())
      if (one.state === "ready") one.until = Math.min(one.until, until);
  }

  #keyOf(desired: Desired): string {
    return this.#balancers.prefetchKey?.(desired) ?? "";
  }

  #fetch(key: string, desired: readonly Desired[], call: Call): Promise<unknown> {
    const value = this.#balancers.prefetch?.(desired, call) ?? Promise.resolve();
    const covers = new Set(desired.map(textOf));
    const failures = this.#latest.get(key)?.failures ?? 0;
    const next: Prefetched = { value, covers, state: "pending", until: Number.POSITIVE_INFINITY, failures };
    this.#latest.set(key, next);
    const now = this.#clock.monotonic();
    value.then(
      () => Object.assign(next, { state: "ready", until: now + acceptsAge, failures: 0 }),
      (error: unknown) => {
        // Then the cloud did not get the request, or its response was not awaited.
        const isCancelled = call.signal.aborted || isFenced(error);
        const delay = backoff(failures + 1, retry, this.#random);
        const until = isCancelled ? 0 : this.#clock.monotonic() + delay;
        Object.assign(next, { state: "failed", until, failures: isCancelled ? failures : failures + 1 });
      },
    );
    return value;
  }
}

const textOf = (desired: Desired): string => fingerprintOf(desired).spec;

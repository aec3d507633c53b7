// The value that the provider prefetches for all plans, shared by those that begin within a minute.

import { minutes } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Call } from "../../../provider/call.ts";
import type { AnyBalancers, Desired, ServiceControllerDeps } from "../deps.ts";
import { fingerprintOf } from "./difference.ts";

const acceptsAge = minutes(1);

interface Prefetched {
  readonly value: Promise<unknown>;
  readonly at: number;
  /** The desired states that the value covers. */
  readonly covers: ReadonlySet<string>;
}

export class SharedPrefetch {
  readonly #balancers: AnyBalancers;
  readonly #clock: Clock;
  #latest: Prefetched | undefined;

  constructor({ balancers, clock }: Pick<ServiceControllerDeps, "balancers" | "clock">) {
    this.#balancers = balancers;
    this.#clock = clock;
  }

  /** A value fetched without these desired states does not cover what they refer to. */
  current(mine: readonly Desired[], all: () => readonly Desired[], call: Call): Promise<unknown> {
    if (this.#balancers.prefetch === undefined) return Promise.resolve(undefined);
    const now = this.#clock.monotonic();
    const latest = this.#latest;
    const isFresh = latest !== undefined && now - latest.at < acceptsAge;
    if (isFresh && mine.every((desired) => latest.covers.has(textOf(desired)))) return latest.value;
    const desired = all();
    const value = this.#balancers.prefetch(desired, call);
    this.#latest = { value, at: now, covers: new Set(desired.map(textOf)) };
    // A failed prefetch is not shared.
    value.catch(() => {
      if (this.#latest?.value === value) this.#latest = undefined;
    });
    return value;
  }

  /** After a step that changed it. */
  forget(): void {
    this.#latest = undefined;
  }
}

const textOf = (desired: Desired): string => fingerprintOf([desired]).spec;

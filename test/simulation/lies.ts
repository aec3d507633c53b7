// What the simulated cloud swears although it is not so: that a machine does not exist, in listings, in lookups or in both.
// Kept apart from the truth, which the checker asks.

import type { Clock } from "../../src/platform/clock.ts";

export type LieWay = "listing" | "lookup" | "both";

export class Lies {
  readonly #clock: Clock;
  #told: { readonly machine: string; readonly way: LieWay; readonly until: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(machine: string, way: LieWay, milliseconds: number): void {
    this.#told.push({ machine, way, until: this.#clock.monotonic() + milliseconds });
  }

  clear(): void {
    this.#told = [];
  }

  hides(machine: string, asked: "listing" | "lookup"): boolean {
    const now = this.#clock.monotonic();
    this.#told = this.#told.filter(({ until }) => until > now);
    return this.#told.some((lie) => lie.machine === machine && (lie.way === "both" || lie.way === asked));
  }
}

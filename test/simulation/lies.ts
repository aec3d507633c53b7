// What the simulated cloud swears although it is not so: that a machine does not exist, in listings, in lookups or in both.
// Kept apart from the truth, which the checker asks.

import type { Clock } from "../../src/platform/clock.ts";

export type LieWay = "listing" | "lookup" | "both";

export class Lies {
  readonly #clock: Clock;
  #reported: { readonly machine: string; readonly way: LieWay; readonly until: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  report(machine: string, way: LieWay, milliseconds: number): void {
    this.#reported.push({ machine, way, until: this.#clock.monotonic() + milliseconds });
  }

  clear(): void {
    this.#reported = [];
  }

  hides(machine: string, asked: "listing" | "lookup"): boolean {
    const now = this.#clock.monotonic();
    this.#reported = this.#reported.filter(({ until }) => until > now);
    return this.#reported.some((lie) => lie.machine === machine && (lie.way === "both" || lie.way === asked));
  }
}

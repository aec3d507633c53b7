// Machines that the simulated cloud reports as missing although they exist: in listings, in lookups or in both. The
// invariants use the cloud's real state instead.

import type { Clock } from "../../src/platform/clock.ts";

export type HiddenFrom = "listing" | "lookup" | "both";

export class HiddenMachines {
  readonly #clock: Clock;
  #hidden: { readonly machine: string; readonly from: HiddenFrom; readonly until: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  hide(machine: string, from: HiddenFrom, milliseconds: number): void {
    this.#hidden.push({ machine, from, until: this.#clock.monotonic() + milliseconds });
  }

  get isHiding(): boolean {
    const now = this.#clock.monotonic();
    return this.#hidden.some(({ until }) => until > now);
  }

  clear(): void {
    this.#hidden = [];
  }

  isHidden(machine: string, request: "listing" | "lookup"): boolean {
    const now = this.#clock.monotonic();
    this.#hidden = this.#hidden.filter(({ until }) => until > now);
    return this.#hidden.some(
      (entry) => entry.machine === machine && (entry.from === "both" || entry.from === request),
    );
  }
}

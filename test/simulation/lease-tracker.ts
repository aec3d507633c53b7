// Tracks one replica's knowledge of its Lease, independently of the code under test: when it sent the last successful renewal, by
// both of its clocks.

import type { RequestOutcome } from "./network.ts";
import type { ProcessClock } from "./simulated-process.ts";

export const leaseDuration = 15_000;
const margin = 2_000;

export class LeaseTracker {
  readonly #clock: ProcessClock;
  #renewed: { readonly monotonic: number; readonly wall: number } | undefined;

  constructor(clock: ProcessClock) {
    this.#clock = clock;
  }

  /** Records a renewal. Call this when it is sent, and the returned function with its outcome. */
  renewalSent(): (ending: RequestOutcome) => void {
    const sent = { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
    return (ending) => {
      if (ending === "accepted") this.#renewed = sent;
    };
  }

  /** Why the replica must not write now; undefined when it may. */
  problem(): string | undefined {
    if (this.#renewed === undefined) return "no renewal was answered yet";
    const age = Math.max(
      this.#clock.monotonic() - this.#renewed.monotonic,
      this.#clock.now() - this.#renewed.wall,
    );
    return age + margin < leaseDuration
      ? undefined
      : `the last answered renewal was sent ${age / 1000} s ago`;
  }
}

// What one replica can know of its own lease, kept by the checker beside the code under test: when the newest renewal that
// it has an answer for was sent, by both of its clocks.

import type { ProcessClock } from "./life.ts";
import type { Ending } from "./wire.ts";

const duration = 15_000;
const margin = 2_000;

export class LeaseKnowledge {
  readonly #clock: ProcessClock;
  #proved: { readonly monotonic: number; readonly wall: number } | undefined;

  constructor(clock: ProcessClock) {
    this.#clock = clock;
  }

  /** A write to the lease leaves; when it was accepted, it proves as much as its sending. */
  renewalSent(): (ending: Ending) => void {
    const sent = { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
    return (ending) => {
      if (ending === "accepted") this.#proved = sent;
    };
  }

  /** Why nothing may be written now, or undefined. */
  whyNot(): string | undefined {
    if (this.#proved === undefined) return "no renewal was ever answered";
    const age = Math.max(
      this.#clock.monotonic() - this.#proved.monotonic,
      this.#clock.now() - this.#proved.wall,
    );
    return age + margin < duration
      ? undefined
      : `the last renewal that was answered was sent ${age / 1000} s ago`;
  }
}

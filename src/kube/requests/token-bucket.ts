// A rate limit with a burst, for --kube-api-qps and --kube-api-burst. Without these flags no rate limit applies.

import { milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";

export class TokenBucket {
  readonly #clock: Clock;
  readonly #ratePerSecond: number;
  readonly #burst: number;
  /** Below zero while callers wait, because each of them takes its token in advance. */
  #tokens: number;
  #refilledAt: number;

  constructor(
    { ratePerSecond, burst }: { readonly ratePerSecond: number; readonly burst: number },
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#ratePerSecond = ratePerSecond;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#refilledAt = clock.monotonic();
  }

  /** Resolves when one more request may be sent; callers proceed in the order of their calls. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await sleep(this.#clock, milliseconds((-this.#tokens / this.#ratePerSecond) * 1000), signal);
    } catch (reason) {
      this.#tokens += 1;
      throw reason;
    }
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    const gained = ((now - this.#refilledAt) / 1000) * this.#ratePerSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#refilledAt = now;
  }
}

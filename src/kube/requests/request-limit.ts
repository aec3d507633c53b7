// Limits the requests in flight of the whole process, including watches. The limit is below the number at which Bun
// silently queues requests. Some places are reserved for Leases, health checks and authentication.

import { milliseconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";

/** "reserved" may use every slot, "normal" only unreserved slots. */
export type Lane = "normal" | "reserved";

/** File descriptors for files, logs, ports and cloud connections. */
const otherDescriptors = 32;
const maxInFlight = 200;

/** The number of requests and of writes that may be in flight. Each may need a connection, which is a file descriptor. */
export function placesWithin(openFiles: number): { readonly requests: number; readonly writes: number } {
  const requests = Math.min(maxInFlight, Math.max(16, openFiles - otherDescriptors));
  return { requests, writes: Math.min(64, Math.floor(requests / 2)) };
}

export class RequestLimit {
  readonly #limits: Record<Lane, number>;
  readonly #lines: Record<Lane, WaitQueue> = { normal: new WaitQueue(), reserved: new WaitQueue() };
  #inFlight = 0;

  constructor({ limit = maxInFlight, reserved = Math.min(16, limit / 4) } = {}) {
    this.#limits = { normal: limit - reserved, reserved: limit };
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#lines.normal.length + this.#lines.reserved.length;
  }

  /** Resolves with the function that frees the place; calling it again has no effect. */
  async enter(lane: Lane, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.#lines[lane];
    if (this.#hasPlace(lane) && line.length === 0) this.#inFlight++;
    else await line.join(signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inFlight--;
      this.#admit();
    };
  }

  #hasPlace(lane: Lane): boolean {
    return this.#inFlight < this.#limits[lane];
  }

  #admit(): void {
    for (const lane of ["reserved", "normal"] as const) {
      while (this.#hasPlace(lane) && this.#lines[lane].length > 0) {
        // Counted before the caller runs, because two callers could otherwise take the same place.
        this.#inFlight++;
        this.#lines[lane].next();
      }
    }
  }
}

/** A rate limit with a burst, for --kube-api-qps and --kube-api-burst. Without these flags, the rate is not limited. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #ratePerSecond: number;
  readonly #burst: number;
  /** Negative while callers wait, because each of them takes its token in advance. */
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

/**
 * A first-in, first-out queue of callers that wait for a place. A caller leaves the queue when its signal is aborted.
 * `RequestLimit` and `WriteConcurrency` determine when a place is free.
 */
export class WaitQueue {
  readonly #waiting = new Set<() => void>();

  get length(): number {
    return this.#waiting.size;
  }

  /** Resolves when `next` reaches this caller. Rejects with the signal's reason, without taking a place. */
  join(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const admit = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(admit);
        reject(signal.reason);
      };
      this.#waiting.add(admit);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Admits the caller that has waited longest; false when the queue is empty. */
  next(): boolean {
    for (const admit of this.#waiting) {
      this.#waiting.delete(admit);
      admit();
      return true;
    }
    return false;
  }
}

// Limits the requests in flight of the whole process, including watches. The limit is below the number at which Bun queues
// requests silently. Some places are reserved for leases, health checks and authentication.

import { WaitQueue } from "./wait-queue.ts";

/** "reserved" may use every place, "normal" only the unreserved ones. */
export type Lane = "normal" | "reserved";

export class RequestLimit {
  readonly #limits: Record<Lane, number>;
  readonly #lines: Record<Lane, WaitQueue> = { normal: new WaitQueue(), reserved: new WaitQueue() };
  #inFlight = 0;

  constructor({ limit = 200, reserved = 16 } = {}) {
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
        // Counted before the caller runs, or two callers could take one place.
        this.#inFlight++;
        this.#lines[lane].next();
      }
    }
  }
}

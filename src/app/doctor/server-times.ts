// Compares the clock here with those of servers, by the Date header of their responses.

import { milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";

/** The difference between the clock of a server and the clock here. */
export interface ServerClock {
  readonly server: string;
  /** Positive: the clock here is behind. */
  readonly aheadMs: number;
}

/** The header has whole seconds. */
const halfOfResolution = milliseconds(500);

export class ServerTimes {
  readonly #clock: Clock;
  readonly #aheadMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same transport; it notes the time of each response. */
  observe(transport: Transport): Transport {
    return async (request, signal) => {
      const sent = this.#clock.now();
      const { origin } = new URL(request.url);
      if (!this.#aheadMs.has(origin)) this.#aheadMs.set(origin, Number.NaN);
      const response = await transport(request, signal);
      const date = Date.parse(response.headers.get("date") ?? "") + halfOfResolution;
      if (!Number.isNaN(date)) this.#aheadMs.set(origin, date - (sent + this.#clock.now()) / 2);
      return response;
    };
  }

  /** The origins of all requests. */
  get origins(): readonly string[] {
    return [...this.#aheadMs.keys()];
  }

  /** Undefined if the server has sent no time. */
  of(origin: string): ServerClock | undefined {
    const aheadMs = this.#aheadMs.get(origin);
    return aheadMs === undefined || Number.isNaN(aheadMs) ? undefined : { server: origin, aheadMs };
  }
}

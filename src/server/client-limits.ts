// Limits the requests of a port: how many are served at once, in total and per client, and how many a client sends per second. A
// client is an IP address, so it is limited before anything else is known about it.

import type { Clock } from "../platform/clock.ts";

export interface RequestLimits {
  readonly inFlight: number;
  readonly inFlightOfClient: number;
  /** Requests per second per client, after a burst of the same size. */
  readonly perSecond: number;
}

interface Client {
  inFlight: number;
  /** The number of requests that may be sent now. */
  tokens: number;
  /** When `tokens` was computed; monotonic. */
  at: number;
}

/** Above this number, clients that send nothing are forgotten. */
const maxIdleClients = 1000;

export class ClientLimits {
  readonly #limits: RequestLimits;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #clients = new Map<string, Client>();
  #inFlight = 0;

  constructor(limits: RequestLimits, clock: Pick<Clock, "monotonic">) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Returns a function to call at the end of the request; undefined if the request must be rejected. */
  enter(address: string): (() => void) | undefined {
    const { inFlight, inFlightOfClient } = this.#limits;
    const client = this.#clientOf(address);
    if (this.#inFlight >= inFlight || client.inFlight >= inFlightOfClient || client.tokens < 1)
      return undefined;
    client.tokens -= 1;
    client.inFlight += 1;
    this.#inFlight += 1;
    return () => {
      client.inFlight -= 1;
      this.#inFlight -= 1;
    };
  }

  #clientOf(address: string): Client {
    const now = this.#clock.monotonic();
    const { perSecond } = this.#limits;
    if (this.#clients.size > maxIdleClients) this.#forgetIdle(now);
    const client = this.#clients.get(address) ?? { inFlight: 0, tokens: perSecond, at: now };
    client.tokens = Math.min(perSecond, client.tokens + ((now - client.at) / 1000) * perSecond);
    client.at = now;
    this.#clients.set(address, client);
    return client;
  }

  /** After a second without a request, a client has all its tokens again. */
  #forgetIdle(now: number): void {
    for (const [address, { inFlight, at }] of this.#clients) {
      if (inFlight === 0 && now - at >= 1000) this.#clients.delete(address);
    }
  }
}

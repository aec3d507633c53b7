// Compares the local clock with the servers' clocks by the Date header of responses.

import { milliseconds, seconds } from "../../core/brand.ts";
import { messageIn } from "../../core/problem.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";
import type { Log } from "../../telemetry/log.ts";

/** The difference between a server's clock and the local clock. */
export interface ServerClock {
  readonly server: string;
  /** Positive if the local clock is behind. */
  readonly aheadMs: number;
}

/** The header has a resolution of one second. */
const halfOfResolution = milliseconds(500);

export class ServerTimes {
  readonly #clock: Clock;
  readonly #aheadMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps the transport to record the time of each response. */
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

  /** The origins of all requests so far. */
  get origins(): readonly string[] {
    return [...this.#aheadMs.keys()];
  }

  /** Undefined if the server has sent no Date header. */
  of(origin: string): ServerClock | undefined {
    const aheadMs = this.#aheadMs.get(origin);
    return aheadMs === undefined || Number.isNaN(aheadMs) ? undefined : { server: origin, aheadMs };
  }
}

const maxSkew = 30_000;
/** With a larger difference, clouds reject signed requests, and new tokens and certificates are not valid yet. */
const maxSignedSkew = 300_000;

/** Undefined if the clocks agree. */
export function skewOf({ server, aheadMs }: ServerClock) {
  const skew = Math.abs(aheadMs);
  if (skew <= maxSkew) return undefined;
  return {
    isSevere: skew > maxSignedSkew,
    text: `The clock of this machine is ${Math.round(skew / 1000)}s ${aheadMs > 0 ? "behind" : "ahead of"} the clock of ${server}.`,
    effect:
      "New tokens and certificates can look expired or not valid yet, and clouds reject signed requests with an incorrect time. Leader election is not affected.",
    remedy: "Synchronize the clocks of both machines, for example with chrony or systemd-timesyncd.",
  };
}

/** With hundreds of requests per second, parsing every Date header would cost more than it is worth. */
const checkInterval = seconds(1);

/** Wraps a transport: logs once when the clocks differ, and again when they differ after having agreed. */
export function reportSkew(transport: Transport, clock: Clock, log: Pick<Log, "warn">): Transport {
  const times = new ServerTimes(clock);
  const observed = times.observe(transport);
  let isReported = false;
  let checkedAt = Number.NEGATIVE_INFINITY;
  const check: Transport = async (request, signal) => {
    const response = await observed(request, signal);
    const server = times.of(new URL(request.url).origin);
    const found = server && skewOf(server);
    if (found !== undefined && !isReported) log.warn(messageIn(found));
    isReported = found !== undefined;
    return response;
  };
  return (request, signal) => {
    const now = clock.monotonic();
    if (now - checkedAt < checkInterval) return transport(request, signal);
    checkedAt = now;
    return check(request, signal);
  };
}

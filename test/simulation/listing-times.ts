// The time when each replica last listed the load balancers, from its point of view. It decides
// whether the replica must repeat a lookup that contradicts the listing.

import type { Clock } from "../../src/platform/clock.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";

interface Listing {
  beganAt: number;
  endedAt: number;
  isRunning: boolean;
}

/** A younger listing shows the existing load balancers. */
const justListedFor = 5_000;
/** The times that the manager measures differ by the duration of a request. */
const tolerance = 1_000;

export class ListingTimes {
  readonly #clock: Clock;
  readonly #last = new Map<string, Listing>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a request. Call the returned function when it has ended. */
  requestSent(replica: string, { method, url }: TransportRequest): () => void {
    const { pathname, searchParams } = new URL(url);
    if (method !== "GET" || !pathname.endsWith("/balancers") || searchParams.has("owner"))
      return () => undefined;
    const known = this.#last.get(replica);
    const isFirstPage = Number(searchParams.get("page") ?? 1) === 1;
    const now = this.#clock.monotonic();
    const listing =
      known === undefined || isFirstPage ? { beganAt: now, endedAt: now, isRunning: true } : known;
    listing.isRunning = true;
    this.#last.set(replica, listing);
    return () => {
      listing.isRunning = false;
      listing.endedAt = this.#clock.monotonic();
    };
  }

  /** Whether the last listing of this replica is too old to be believed against a lookup. */
  isOld(replica: string | undefined): boolean {
    const last = this.#last.get(replica ?? "");
    if (last === undefined || last.isRunning) return false;
    const { beganAt, endedAt } = last;
    return this.#clock.monotonic() - beganAt > Math.max(justListedFor, 2 * (endedAt - beganAt)) + tolerance;
  }
}

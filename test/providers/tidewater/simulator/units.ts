// The budget of one zone: units that requests use up and that come back evenly, as its headers report them.

import type { Clock } from "#ccm/testing";

export interface UnitLimits {
  readonly max: number;
  readonly perSecond: number;
}

/** Requests that name objects are cheap, pages of a listing cost more, writes cost most. */
export function costOf(operation: string, query: URLSearchParams): number {
  if (!operation.startsWith("GET ")) return 10;
  const isListing = ["GET /machines", "GET /frontends"].includes(operation);
  return isListing && !query.has("id") && !query.has("label") ? 4 : 1;
}

export class Units {
  readonly #clock: Clock;
  readonly #limits: UnitLimits;
  #left: number;
  #counted = 0;

  constructor(clock: Clock, limits: UnitLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#left = limits.max;
  }

  /** Uses up all units. */
  spend(): void {
    this.#left = 0;
    this.#counted = this.#clock.monotonic();
  }

  take(cost: number): { readonly isFree: boolean; readonly headers: Readonly<Record<string, string>> } {
    const now = this.#clock.monotonic();
    const { max, perSecond } = this.#limits;
    this.#left = Math.min(max, this.#left + ((now - this.#counted) * perSecond) / 1000);
    this.#counted = now;
    const isFree = this.#left >= cost;
    if (isFree) this.#left -= cost;
    const untilHas = (units: number) => String(Math.ceil(((units - this.#left) / perSecond) * 1000));
    const headers = {
      "tidewater-units-max": String(max),
      "tidewater-units-left": String(Math.floor(this.#left)),
      "tidewater-units-full-ms": untilHas(max),
    };
    return { isFree, headers: isFree ? headers : { ...headers, "tidewater-pause-ms": untilHas(cost) } };
  }
}

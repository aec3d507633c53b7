// The simulated cloud of api.md: three zones, of which two are linked. Turns a request into a response synchronously, with time from
// the given clock.

import type { Clock, Transport } from "#ccm/testing";
import { type Answer, Refusal } from "./answer.ts";
import { Faults } from "./faults.ts";
import type { Rejection } from "./tickets.ts";
import { costOf, type UnitLimits, Units } from "./units.ts";
import { Zone } from "./zone.ts";

export const zoneNames = ["north", "east", "isle"] as const;
export type ZoneName = (typeof zoneNames)[number];

const prefixes = { north: "10.20", east: "10.21", isle: "10.22" } as const;
/** The zones whose machines a load balancer can reach. */
const links: Readonly<Record<ZoneName, readonly ZoneName[]>> = {
  ...{ north: ["north", "east"], east: ["north", "east"], isle: ["isle"] },
};

export interface TidewaterOptions {
  readonly clock: Clock;
  /** Milliseconds for which listings and route tables show an older state. */
  readonly lag?: number;
  readonly pageSize?: number;
  readonly units?: UnitLimits;
}

export class TidewaterCloud {
  readonly faults = new Faults();
  /** All requests, in order. */
  readonly seen: { readonly zone: string; readonly operation: string; readonly status: number }[] = [];
  readonly zones: Readonly<Record<ZoneName, Zone>>;
  readonly #units: Readonly<Record<ZoneName, Units>>;

  constructor({ clock, lag = 2000, pageSize = 100, units = { max: 600, perSecond: 20 } }: TidewaterOptions) {
    const make = (name: ZoneName) => {
      const reject = (address: string) => this.#reject(name, address);
      return new Zone({ clock, lag, pageSize, prefix: prefixes[name], reject });
    };
    const budget = () => new Units(clock, units);
    this.zones = { north: make("north"), east: make("east"), isle: make("isle") };
    this.#units = { north: budget(), east: budget(), isle: budget() };
  }

  /** Ends the work that is due. */
  settle(): void {
    for (const { tickets } of Object.values(this.zones)) tickets.settle();
  }

  /** Uses up the units of all zones. */
  spendUnits(): void {
    for (const units of Object.values(this.#units)) units.spend();
  }

  readonly transport: Transport = async ({ method, url, headers, body }, signal) => {
    signal.throwIfAborted();
    this.settle();
    const { hostname, pathname, searchParams: query } = new URL(url);
    const zone = zoneNames.find((name) => hostname.startsWith(`${name}.`));
    const path = pathname.replace(/^\/v3/, "");
    const parts = path.split("/").slice(1).map(decodeURIComponent);
    const ids = parts.filter((_, index) => parts[0] === "frontends" && index % 2 === 1);
    const operation = `${method} /${parts.map((part) => (ids.includes(part) ? "{id}" : part)).join("/")}`;
    const fault = this.faults.next(zone ?? "", operation);
    if (zone === undefined || fault?.kind === "status") {
      this.seen.push({ zone: zone ?? hostname, operation, status: 502 });
      return new Response("<html>proxy</html>", { status: 502 });
    }
    const { isFree, headers: budget } = this.#units[zone].take(costOf(operation, query));
    const sent: unknown = typeof body === "string" && body !== "" ? JSON.parse(body) : undefined;
    const answer = answerOf(() => {
      if (new Headers(headers).get("tidewater-key") !== "tide")
        throw new Refusal(401, "unknown_key", "unknown key");
      if (!isFree) throw new Refusal(403, "units_spent", `the budget of zone ${zone} is spent`);
      return this.zones[zone].serve(operation, ids, { method, path, query, body: sent }, fault);
    });
    this.seen.push({ zone, operation, status: answer.status });
    if (fault?.kind === "lost-answer") throw new TypeError("The connection was closed before the response.");
    return Response.json(answer.body, { status: answer.status, headers: budget });
  };

  #reject(zone: ZoneName, address: string): Rejection | undefined {
    const owner = links[zone].map((name) => this.zones[name].machines).find((one) => one.hasAddress(address));
    if (owner === undefined)
      return { address, code: "no_path", text: `no machine that zone ${zone} reaches has ${address}` };
    if (!owner.quarantined.has(address)) return undefined;
    return { address, code: "quarantined", text: `the machine with ${address} is in quarantine` };
  }
}

function answerOf(serve: () => Answer): Answer {
  try {
    return serve();
  } catch (error) {
    if (error instanceof Refusal) return error.toAnswer();
    throw error;
  }
}

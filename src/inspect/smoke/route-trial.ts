// The trial of a route: from a range that the user names, and that no other route has, to the machine of the test.

import { type RouteTable, routeTablesOf } from "../../cloud/ideal-route-tables.ts";
import { matchTarget } from "../../cloud/own-route-changes.ts";
import { listTable } from "../../controllers/route/observe/table-listing.ts";
import type { Cidr } from "../../core/brand.ts";
import { cidr, prefixLength } from "../../core/cidr.ts";
import { overlaps } from "../../core/cidr-overlaps.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { DesiredRoute, ObservedRoute, RouteOutcome } from "../../provider/routes.ts";
import { untilEnded } from "../cleanup/apply-and-wait.ts";
import type { SmokeRecord } from "./record.ts";
import { type Found, interval, type Trial, type TrialContext, untilDone, untilShown } from "./trial.ts";

/** Undefined if the test has no route. */
export function desiredRoute({ machine, route, uid }: SmokeRecord): DesiredRoute | undefined {
  if (machine === undefined || route === undefined) return undefined;
  return { destination: cidr(route.destination), target: { ...machine, uid } };
}

/** The first table that serves the target, or the one with this name. */
export function tableFor(
  { routes }: Pick<AnyCloud, "routes">,
  { target }: DesiredRoute,
  clock: Clock,
  name?: string,
): RouteTable | undefined {
  const tables = routes === undefined ? [] : routeTablesOf(routes, clock);
  return tables.find((table) => table.serves(target) && (name === undefined || table.name === name));
}

export class RouteTrial implements Trial {
  readonly part = "route";
  readonly searchFor: string;
  readonly steps = [
    { name: "create", run: (call: Call) => this.#create(call) },
    { name: "check", run: (call: Call) => this.#verify(call) },
  ];
  readonly #context: TrialContext;
  readonly #desired: DesiredRoute;
  readonly #work: RouteTable;
  readonly #check: RouteTable;

  constructor(context: TrialContext, desired: DesiredRoute) {
    const { work, check, clock, file } = context;
    const table = (cloud: AnyCloud): RouteTable => {
      const found = tableFor(cloud, desired, clock, file.record.route?.table);
      if (found === undefined) throw new Error("The cloud has no route table for this machine any more.");
      return found;
    };
    this.#context = context;
    this.#desired = desired;
    this.#work = table(work);
    this.#check = table(check);
    this.searchFor = `a route to ${desired.destination}`;
  }

  async find(call: Call): Promise<readonly Found[]> {
    return (await this.#own(this.#check, call)).map((route) => ({
      name: `${route.destination} to ${this.#desired.target.node}`,
      remove: async () => {
        await this.#end(await this.#work.remove(route, call), call);
        return interval;
      },
    }));
  }

  /** No listing before the creation has shown a route to this range. */
  async #own(table: RouteTable, call: Call): Promise<readonly ObservedRoute[]> {
    const { routes } = await listTable(table, this.#context.clock, call);
    const { destination, target } = this.#desired;
    return routes.filter(
      (route) =>
        route.destination === destination &&
        route.ownership !== "foreign" &&
        matchTarget(target, route) === "same",
    );
  }

  /** Sent again after an unknown outcome, as by the controller: a range can have only one route. */
  #create(call: Call): Promise<void> {
    return untilDone(this.#context.clock, call.signal, async () => {
      const [present] = await this.#own(this.#work, call);
      if (present === undefined) await this.#end(await this.#work.create(this.#desired, call), call);
      return undefined;
    });
  }

  async #end(outcome: RouteOutcome, call: Call): Promise<void> {
    if (outcome.done || outcome.operation === undefined) return;
    const { work, clock } = this.#context;
    const deps = { pending: work.pending, clock, end: Number.POSITIVE_INFINITY };
    await untilEnded(deps, outcome.operation, outcome, call);
  }

  #verify(call: Call): Promise<void> {
    const what = "the route";
    return untilShown(this.#context, call.signal, what, async () => {
      return (await this.#own(this.#check, call)).some(({ leadsNowhere }) => leadsNowhere !== true);
    });
  }
}

/** The listed routes that the range overlaps, except default routes. */
export async function takenRanges(
  table: RouteTable,
  range: Cidr,
  clock: Clock,
  call: Call,
): Promise<readonly Cidr[]> {
  const { destinations } = await listTable(table, clock, call);
  const specific = [...destinations].filter((destination) => prefixLength(destination) > 0);
  return [...(overlaps([range], specific).get(range) ?? [])];
}

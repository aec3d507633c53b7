// The trial of a route to the test machine, from a range that the user names and that no other route has.

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
import {
  type Found,
  interval,
  SmokeFailure,
  type Trial,
  type TrialContext,
  untilDone,
  untilShown,
} from "./trial.ts";

/** Undefined if the test has no route. */
export function desiredRoute({ machine, route, uid }: SmokeRecord): DesiredRoute | undefined {
  if (machine === undefined || route === undefined) return undefined;
  return { destination: cidr(route.destination), target: { ...machine, uid } };
}

/** The first table that serves the target, or the table with this name. */
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
  /** Before this test has sent a creation, a route for the range belongs to another client. */
  #isUnsent = false;

  constructor(context: TrialContext, desired: DesiredRoute) {
    this.#context = context;
    this.#desired = desired;
    this.searchFor = `a route to ${desired.destination}`;
  }

  async find(call: Call): Promise<readonly Found[]> {
    if (this.#isUnsent) return [];
    return (await this.#own("check", call)).map((route) => ({
      name: `${route.destination} to ${this.#desired.target.node}`,
      remove: async () => {
        await this.#end(await this.#table("work").remove(route, call), call);
        return interval;
      },
    }));
  }

  #table(connection: "work" | "check"): RouteTable {
    const { [connection]: cloud, clock, file } = this.#context;
    const found = tableFor(cloud, this.#desired, clock, file.record.route?.table);
    if (found !== undefined) return found;
    throw new SmokeFailure("NoRouteTable", "With these settings, no route table serves this machine.");
  }

  /** No listing before the creation showed a route for this range. */
  async #own(connection: "work" | "check", call: Call): Promise<readonly ObservedRoute[]> {
    const { routes } = await listTable(this.#table(connection), this.#context.clock, call);
    const { destination, target } = this.#desired;
    return routes.filter(
      (route) =>
        route.destination === destination &&
        route.ownership !== "foreign" &&
        matchTarget(target, route) === "same",
    );
  }

  /** Sent again after an unknown outcome, as in the controller, because a range can have only one route. */
  #create(call: Call): Promise<void> {
    const table = this.#table("work");
    const { clock } = this.#context;
    this.#isUnsent = true;
    return untilDone(clock, call.signal, async () => {
      if (this.#isUnsent) await refuseTaken(table, this.#desired.destination, clock, call);
      this.#isUnsent = false;
      const [present] = await this.#own("work", call);
      if (present === undefined) await this.#end(await table.create(this.#desired, call), call);
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
      return (await this.#own("check", call)).some(({ leadsNowhere }) => leadsNowhere !== true);
    });
  }
}

/** Throws if the range overlaps a listed route other than a default route. */
export async function refuseTaken(table: RouteTable, range: Cidr, clock: Clock, call: Call): Promise<void> {
  const { destinations } = await listTable(table, clock, call);
  const specific = [...destinations].filter((destination) => prefixLength(destination) > 0);
  const [taken] = overlaps([range], specific).get(range) ?? [];
  if (taken === undefined) return;
  throw new SmokeFailure(
    "RouteTaken",
    `--route-range ${range} overlaps the route to ${taken}. Choose a range that nothing uses.`,
  );
}

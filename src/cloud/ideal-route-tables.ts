// The route tables of a cloud in the idealized form that the controllers use: each route is created and removed by
// its own call, and listings show every change of this process.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import { type ServingTable, tablesOf } from "../provider/route-tables.ts";
import type {
  DesiredRoute,
  ObservedRoute,
  RouteOutcome,
  RoutePage,
  Routes,
  RoutesOneByOne,
  RouteTables,
  RouteTarget,
} from "../provider/routes.ts";
import { DocumentRoutes } from "./document-routes.ts";
import { type ListedRoute, OwnRouteChanges, type RouteChange } from "./own-route-changes.ts";

export interface ListedPage extends RoutePage {
  readonly routes: readonly ListedRoute[];
}

/** Allows for inexact clocks and request times. */
const margin: Milliseconds = seconds(5);

export class RouteTable {
  /** Undefined if the cloud has one table. */
  readonly name: string | undefined;
  /** Whether the table needs the routes to this target. Pure. */
  readonly serves: (target: RouteTarget) => boolean;
  /** Changes that begin at the same moment are sent together, so they need not wait for each other. */
  readonly sendsTogether: boolean;
  readonly families: Routes["families"];
  readonly limit: number | undefined;
  /** The cloud accepts no further change while a change is in progress. */
  readonly oneAtATime: boolean;
  readonly #readsLag: Milliseconds | undefined;
  readonly #oneByOne: Pick<RoutesOneByOne, "list" | "create" | "remove">;
  readonly #clock: Clock;
  readonly #own = new OwnRouteChanges();

  constructor({ name, routes, serves }: ServingTable, clock: Clock) {
    this.name = name;
    this.serves = serves;
    this.sendsTogether = routes.style === "document";
    this.families = routes.families;
    this.limit = routes.limit;
    this.oneAtATime = routes.style === "one-by-one" && routes.oneAtATime === true;
    this.#readsLag = routes.readsLag;
    this.#oneByOne = routes.style === "document" ? new DocumentRoutes(routes, clock) : routes;
    this.#clock = clock;
  }

  /** When a listing shows all changes so far (monotonic), so that routes which are not shown yet can be removed. */
  get shownAt(): number | undefined {
    return this.#own.shownAt;
  }

  /** How far apart two listings must be to prove that a route is absent. */
  proofsApart(confirmAfter: Milliseconds): Milliseconds {
    if (this.#readsLag === undefined) return confirmAfter;
    return milliseconds(Math.max(confirmAfter, margin) + this.#readsLag);
  }

  async *list(call: Call): AsyncIterable<ListedPage> {
    const beganAt = this.#clock.monotonic();
    if (this.#readsLag === undefined) return yield* this.#oneByOne.list(call);
    const pages: RoutePage[] = [];
    for await (const page of this.#oneByOne.list(call)) pages.push(page);
    const routes = pages.flatMap((page) => page.routes);
    const problems = pages.flatMap((page) => page.problems ?? []);
    yield { routes: this.#own.applyTo(routes, beganAt), problems };
  }

  async create(route: DesiredRoute, call: Call): Promise<RouteOutcome> {
    return this.#outcomeOf({ do: "create", route }, await this.#oneByOne.create(route, call));
  }

  async remove(route: ObservedRoute, call: Call): Promise<RouteOutcome> {
    try {
      return this.#outcomeOf({ do: "remove", route }, await this.#oneByOne.remove(route, call));
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "not-found") throw error;
      // The route is already gone; listings that lag may still show it.
      return this.#outcomeOf({ do: "remove", route }, { done: true });
    }
  }

  /** Notes that the operation of a change has succeeded. */
  noteDone(change: RouteChange): void {
    if (this.#readsLag !== undefined) this.#own.note(change, this.#clock.monotonic(), this.#readsLag);
  }

  #outcomeOf(change: RouteChange, outcome: RouteOutcome): RouteOutcome {
    if (outcome.done) this.noteDone(change);
    if (outcome.done || outcome.operation !== undefined) return outcome;
    // Only a listing shows how the operation ended, and no listing does so earlier.
    return { ...outcome, checkAfter: milliseconds(Math.max(outcome.checkAfter, this.#readsLag ?? 0)) };
  }
}

export function routeTablesOf(routes: RouteTables, clock: Clock): readonly RouteTable[] {
  return tablesOf(routes).map((table) => new RouteTable(table, clock));
}

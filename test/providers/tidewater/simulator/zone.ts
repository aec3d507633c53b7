// One zone of the simulated cloud: its endpoint, with machines, frontends, a route table, tickets and its own budget.

import type { Clock } from "#ccm/testing";
import { type Answer, pageOf, type Query, Refusal } from "./answer.ts";
import type { Fault } from "./faults.ts";
import { Frontends } from "./frontends.ts";
import { LaggingList } from "./lagging-list.ts";
import { Machines } from "./machines.ts";
import { RouteTable } from "./route-table.ts";
import { type Rejection, Tickets } from "./tickets.ts";

export interface ZoneOptions {
  readonly clock: Clock;
  /** How long listings and the route table show an older state. */
  readonly lag: number;
  readonly pageSize: number;
  /** The first half of its addresses. */
  readonly prefix: string;
  /** Why an address cannot be a member of a load balancer. */
  readonly reject: (address: string) => Rejection | undefined;
}

export class Zone {
  readonly tickets: Tickets;
  readonly machines: Machines;
  readonly frontends: Frontends;
  readonly table: RouteTable;
  readonly #pageSize: number;

  constructor({ clock, lag, pageSize, prefix, reject }: ZoneOptions) {
    const listing = <T>() => new LaggingList<T>(clock, lag);
    this.#pageSize = pageSize;
    this.tickets = new Tickets(clock);
    this.machines = new Machines(prefix, listing());
    this.frontends = new Frontends(this.tickets, listing(), reject);
    this.table = new RouteTable(this.tickets, this.machines, listing());
  }

  /** Throws a Refusal for an invalid request. */
  serve(operation: string, [id = "", pool = ""]: readonly string[], request: Query, fault?: Fault): Answer {
    const { query, body } = request;
    const stamp = query.get("stamp");
    this.tickets.failsNext = fault?.kind === "fail-ticket";
    const list = (all: readonly unknown[]): Answer => {
      const answer = pageOf(all, this.#pageSize, request);
      const page = answer.body as { readonly entries: readonly unknown[] };
      if (fault?.kind !== "short-page") return answer;
      return { ...answer, body: { ...page, entries: page.entries.slice(0, -1) } };
    };
    switch (operation) {
      case "GET /machines": {
        const by = (["id", "label"] as const).find((name) => query.has(name));
        return by === undefined
          ? list(this.machines.listing.read())
          : this.machines.find(by, query.getAll(by));
      }
      case "GET /frontends": {
        const label = query.get("label");
        return list(label === null ? this.frontends.listing.read() : this.frontends.find(label));
      }
      case "POST /frontends":
        return this.frontends.create(body);
      case "GET /frontends/{id}":
        return this.frontends.get(id);
      case "PATCH /frontends/{id}":
        return this.frontends.change(id, stamp, body);
      case "DELETE /frontends/{id}":
        return this.frontends.remove(id, stamp);
      case "POST /frontends/{id}/pools":
        return this.frontends.addPool(id, stamp, body);
      case "DELETE /frontends/{id}/pools/{id}":
        return this.frontends.removePool(id, pool, stamp);
      case "PUT /frontends/{id}/pools/{id}/members":
        return this.frontends.setMembers(id, pool, stamp, body);
      case "GET /table":
        return this.table.read();
      case "POST /table/changes":
        return this.table.change(body);
      case "GET /tickets":
        return this.tickets.find(query.getAll("is"));
    }
    throw new Refusal(404, "no_such_operation", `${operation} is not an operation of this cloud`);
  }
}

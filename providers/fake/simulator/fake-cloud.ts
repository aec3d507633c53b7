// The simulated cloud: turns a request into a response synchronously, with time from the given clock. It only decides on
// delays and broken connections; `transport.ts` applies them.

import { type Milliseconds, milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { type Answer, pageOf, type Query, Refusal } from "./answer.ts";
import { Balancers, type SimulatedBalancer } from "./balancers.ts";
import { type Fault, Faults } from "./faults.ts";
import { Machines, type SimulatedMachine } from "./machines.ts";
import { Quota } from "./quota.ts";
import { NetworkRoutes, type SimulatedRoute } from "./routes.ts";
import { type CloudView, trueView } from "./view.ts";

export interface FakeCloudOptions {
  readonly clock: Clock;
  readonly latency?: Milliseconds;
  /** How long it takes to create or change a balancer. */
  readonly actionTime?: Milliseconds;
  readonly requestsPerHour?: number;
  /** Absent: every token is accepted. */
  readonly token?: string;
}

/** A response and how it is delivered. */
export interface Delivery {
  readonly answer: Answer;
  readonly delay: Milliseconds;
  readonly fate: "whole" | "cut" | "reset" | "never";
}

/** A request that was handled. */
export interface Seen {
  readonly operation: string;
  readonly mutates: boolean;
  readonly status: number;
}

const routes = [
  "GET /machines",
  "GET /balancers",
  "POST /balancers",
  "GET /balancers/{id}",
  "PATCH /balancers/{id}",
  "DELETE /balancers/{id}",
  "GET /routes",
  "POST /routes",
  "DELETE /routes/{id}",
] as const;

function operationOf({ method, path }: Query): { operation: string; id: string } {
  const [collection = "", id = ""] = path.split("/").filter((part) => part !== "");
  const operation = `${method} /${collection}${id === "" ? "" : "/{id}"}`;
  return { operation, id: decodeURIComponent(id) };
}

function injected({ status }: Fault): Answer {
  return new Refusal(status ?? 500, "injected_fault", "injected fault").toAnswer();
}

export class FakeCloud {
  readonly machines = new Machines();
  readonly routes = new NetworkRoutes();
  readonly balancers: Balancers;
  readonly faults: Faults;
  readonly clock: Clock;
  /** All requests, in order. */
  readonly seen: Seen[] = [];
  latency: Milliseconds;
  /** What listings and lookups of balancers and routes show. */
  view: CloudView = trueView;
  readonly #quota: Quota;
  readonly #token: string | undefined;

  constructor({ clock, latency, actionTime, requestsPerHour = 1_000_000, token }: FakeCloudOptions) {
    this.clock = clock;
    this.latency = latency ?? milliseconds(0);
    this.balancers = new Balancers(clock, actionTime ?? milliseconds(0));
    this.faults = new Faults(clock);
    this.#quota = new Quota(clock, requestsPerHour);
    this.#token = token;
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { operation } of this.seen) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }

  handle(query: Query, token: string | undefined): Delivery {
    const { operation, id } = operationOf(query);
    const fault = this.faults.next(operation);
    const quota = this.#quota.take();
    const answer = this.#answer(query, operation, id, { fault, token, isFree: quota.isFree });
    this.seen.push({ operation, mutates: query.method !== "GET", status: answer.status });
    return {
      answer: {
        ...answer,
        headers: { "x-request-id": `req-${this.seen.length}`, ...quota.headers, ...answer.headers },
      },
      delay: milliseconds(this.latency + (fault?.kind === "slow" ? (fault.milliseconds ?? 0) : 0)),
      fate:
        fault?.kind === "hang"
          ? "never"
          : fault?.kind === "reset" || fault?.kind === "lost-answer"
            ? "reset"
            : fault?.kind === "cut"
              ? "cut"
              : "whole",
    };
  }

  #answer(
    query: Query,
    operation: string,
    id: string,
    { fault, token, isFree }: { fault: Fault | undefined; token: string | undefined; isFree: boolean },
  ): Answer {
    if (fault?.kind === "reset" || fault?.kind === "hang") return { status: 599 };
    if (fault?.kind === "status") {
      return injected(fault);
    }
    if (!isFree) return new Refusal(429, "rate_limit_exceeded", "too many requests").toAnswer();
    if (this.#token !== undefined && token !== this.#token) {
      return new Refusal(401, "unauthorized", "unknown token").toAnswer();
    }
    try {
      const answer = this.#serve(query, operation, id, fault);
      return fault?.kind === "false-error" ? injected(fault) : answer;
    } catch (error) {
      if (error instanceof Refusal) return error.toAnswer();
      throw error;
    }
  }

  #serve({ query, body }: Query, operation: string, id: string, fault: Fault | undefined): Answer {
    const list = (key: string, all: readonly unknown[]): Answer => {
      if (fault?.kind === "empty-list") return pageOf(key, [], query);
      const answer = pageOf(key, all, query);
      if (fault?.kind !== "short-page") return answer;
      const page = answer.body as Record<string, unknown[]>;
      return { ...answer, body: { ...page, [key]: page[key]?.slice(0, -1) } };
    };
    // The body is not validated: the only client is the provider.
    const spec = (body ?? {}) as Partial<SimulatedBalancer> & Partial<SimulatedRoute>;
    switch (operation as (typeof routes)[number]) {
      case "GET /machines":
        return list("machines", this.#visibleMachines(query));
      case "GET /balancers":
        return list("balancers", this.view.balancers(this.balancers.list(), "listing"));
      case "POST /balancers":
        if (fault?.kind === "half-made") {
          this.balancers.create({ ...spec, listeners: [], targets: [] });
          return injected(fault);
        }
        return { status: 201, body: { balancer: this.balancers.create(spec) } };
      case "GET /balancers/{id}":
        return this.#balancer(id);
      case "PATCH /balancers/{id}":
        return { status: 200, body: { balancer: this.balancers.change(id, spec) } };
      case "DELETE /balancers/{id}":
        this.balancers.remove(id);
        return { status: 204 };
      case "GET /routes":
        return list("routes", this.view.routes(this.routes.list(), "listing"));
      case "POST /routes":
        return { status: 201, body: { route: this.routes.create(spec) } };
      case "DELETE /routes/{id}":
        this.routes.remove(id);
        return { status: 204 };
    }
    throw new Refusal(404, "no_such_operation", `${operation} is not an operation of this cloud`);
  }

  #balancer(id: string): Answer {
    const [balancer] = this.view.balancers([this.balancers.get(id)], "lookup");
    if (balancer === undefined) throw new Refusal(404, "not_found", `balancer ${id} not found`);
    return { status: 200, body: { balancer } };
  }

  #visibleMachines(query: URLSearchParams): readonly SimulatedMachine[] {
    const ids = query.get("ids")?.split(",");
    const names = query.get("names")?.split(",");
    const chosen =
      ids === undefined && names === undefined
        ? this.machines.list()
        : ids === undefined
          ? this.#named(new Set(names))
          : ids.flatMap((id) => (this.machines.has(id) ? this.machines.find(id) : []));
    return chosen.filter((machine) => !this.faults.hides(machine));
  }

  #named(names: ReadonlySet<string>): readonly SimulatedMachine[] {
    return this.machines.list().filter(({ name }) => names.has(name));
  }
}

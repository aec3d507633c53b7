// The simulated cloud: its operations, and its own kinds of faults.

import { type Milliseconds, milliseconds } from "#ccm";
import {
  type Answer,
  type Clock,
  type CloudFault,
  type CommonFault,
  commonFaults,
  type Delivery,
  RequestLimit,
  SimulatedApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { pageOf, type Query, Refusal } from "./answer.ts";
import { Balancers, type SimulatedBalancer } from "./balancers.ts";
import { Machines, type SimulatedMachine } from "./machines.ts";
import { NetworkRoutes, type SimulatedRoute } from "./routes.ts";
import { FakeSnapshots, type SimulatedSnapshot } from "./snapshots.ts";
import { type CloudView, trueView } from "./view.ts";
import { FakeVolumes, type SimulatedVolume } from "./volumes.ts";

export interface FakeCloudOptions {
  readonly clock: Clock;
  readonly latency?: Milliseconds;
  /** The time to create or change a balancer. */
  readonly actionTime?: Milliseconds;
  readonly requestsPerHour?: number;
  /** If unset, every token is accepted. */
  readonly token?: string;
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
  "GET /volumes",
  "POST /volumes",
  "GET /volumes/{id}",
  "PATCH /volumes/{id}",
  "DELETE /volumes/{id}",
  "GET /snapshots",
  "POST /snapshots",
  "GET /snapshots/{id}",
  "DELETE /snapshots/{id}",
] as const;

/**
 * Besides the faults of every cloud:
 * - `half-made`   a balancer is created without listeners and targets, and the request is answered with this status
 * - `short-page`  the page lacks its last entry
 * - `empty-list`  the listing is empty
 * - `no-effect`   a change or deletion is answered as if it was made
 */
export type FaultKind = CommonFault | "half-made" | "short-page" | "empty-list" | "no-effect";
const ownFaults = ["half-made", "short-page", "empty-list", "no-effect"] as const;
const faultKinds: readonly FaultKind[] = [...commonFaults, ...ownFaults];
export type Fault = CloudFault<FaultKind>;

function operationOf({ method, path }: Query): { operation: string; id: string } {
  const [collection = "", id = ""] = path.split("/").filter((part) => part !== "");
  const operation = `${method} /${collection}${id === "" ? "" : "/{id}"}`;
  return { operation, id: decodeURIComponent(id) };
}

/** The request in the form that the cloud and its admin API read. */
export function queryOf({ method, url, body, isMalformed }: SimulatedRequest): Query {
  const path = url.pathname.replace(/^\/v1/, "");
  if (isMalformed) throw new Refusal(400, "invalid_json", `${method} ${path} has a body that is not JSON`);
  return { method, path, query: url.searchParams, body };
}

export class FakeCloud extends SimulatedApi<FaultKind> {
  readonly machines = new Machines();
  readonly routes = new NetworkRoutes();
  readonly balancers: Balancers;
  readonly volumes: FakeVolumes;
  readonly snapshots: FakeSnapshots;
  /** The view of listings and lookups of balancers, routes, volumes and snapshots. */
  view: CloudView = trueView;
  readonly #limit: RequestLimit;
  readonly #requestsPerHour: number;
  readonly #token: string | undefined;

  constructor({ clock, latency, actionTime, requestsPerHour = 1_000_000, token }: FakeCloudOptions) {
    super({ clock, latency }, faultKinds);
    this.balancers = new Balancers(clock, actionTime ?? milliseconds(0));
    this.volumes = new FakeVolumes(clock, this.machines, actionTime ?? milliseconds(0));
    this.snapshots = new FakeSnapshots(clock, this.volumes);
    this.#limit = new RequestLimit(clock, requestsPerHour);
    this.#requestsPerHour = requestsPerHour;
    this.#token = token;
  }

  receive(request: SimulatedRequest): Delivery {
    return this.handle(queryOf(request), request.authorization?.replace(/^Bearer /i, ""));
  }

  handle(query: Query, token: string | undefined): Delivery {
    const { method, path, body } = query;
    const { operation, id } = operationOf(query);
    const fault = this.faults.next(operation);
    const isFree = this.#limit.take();
    const serve = (): Answer => {
      if (!isFree) throw new Refusal(429, "rate_limit_exceeded", "too many requests");
      if (this.#token !== undefined && token !== this.#token)
        throw new Refusal(401, "unauthorized", "unknown token");
      return this.serve(query, operation, id, fault);
    };
    const retryAfter = String(Math.ceil(3600 / this.#requestsPerHour));
    return this.respond({ method, body }, { operation, path, fault, serve }, () => ({
      "x-request-id": `req-${this.seen.length}`,
      ...this.#limit.headers(),
      ...(!isFree && { "retry-after": retryAfter }),
    }));
  }

  protected injected({ status }: Fault): Answer {
    return new Refusal(status ?? 500, "injected_fault", "injected fault").toAnswer();
  }

  /** Serves a request; a simulation may add operations. */
  protected serve({ query, body }: Query, operation: string, id: string, fault: Fault | undefined): Answer {
    const list = (key: string, all: readonly unknown[]): Answer => {
      if (fault?.kind === "empty-list") return pageOf(key, [], query);
      const answer = pageOf(key, all, query);
      if (fault?.kind !== "short-page") return answer;
      const page = answer.body as Record<string, unknown[]>;
      return { ...answer, body: { ...page, [key]: page[key]?.slice(0, -1) } };
    };
    // The body is not validated: the only client is the provider.
    const spec = (body ?? {}) as Partial<SimulatedBalancer> &
      Partial<SimulatedRoute> &
      Partial<SimulatedVolume> &
      Partial<Pick<SimulatedSnapshot, "volume">> & { readonly snapshot?: string };
    if (fault?.kind === "no-effect" && operation.startsWith("DELETE")) return { status: 204 };
    switch (operation as (typeof routes)[number]) {
      case "GET /machines":
        return list("machines", this.#visibleMachines(query));
      case "GET /balancers":
        return list("balancers", this.#visibleBalancers(query));
      case "POST /balancers":
        if (fault?.kind === "half-made") {
          this.balancers.create({ ...spec, listeners: [], targets: [] });
          return this.injected(fault);
        }
        return { status: 201, body: { balancer: this.balancers.create(spec) } };
      case "GET /balancers/{id}":
        return this.#balancer(id);
      case "PATCH /balancers/{id}":
        return {
          status: 200,
          body: { balancer: this.balancers.change(id, fault?.kind === "no-effect" ? {} : spec) },
        };
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
      case "GET /volumes":
        return list("volumes", this.view.volumes(this.volumes.list(), "listing"));
      case "POST /volumes":
        return { status: 201, body: { volume: this.#createVolume(spec) } };
      case "GET /volumes/{id}":
        return this.#volume(id);
      case "PATCH /volumes/{id}":
        return {
          status: 200,
          body: { volume: this.volumes.change(id, fault?.kind === "no-effect" ? {} : spec) },
        };
      case "DELETE /volumes/{id}":
        this.volumes.remove(id);
        return { status: 204 };
      case "GET /snapshots":
        return list("snapshots", this.view.snapshots(this.snapshots.list(), "listing"));
      case "POST /snapshots":
        return { status: 201, body: { snapshot: this.snapshots.create(spec) } };
      case "GET /snapshots/{id}":
        return this.#snapshot(id);
      case "DELETE /snapshots/{id}":
        this.snapshots.remove(id);
        return { status: 204 };
    }
    throw new Refusal(404, "no_such_operation", `${operation} is not an operation of this cloud`);
  }

  /** All balancers, or those whose labels contain this owner. */
  #visibleBalancers(query: URLSearchParams): readonly SimulatedBalancer[] {
    const owner = query.get("owner");
    const all = this.balancers.list();
    if (owner === null) return this.view.balancers(all, "listing");
    return this.view.balancers(
      all.filter(({ labels }) => labels["owner-uid"] === owner),
      "lookup",
    );
  }

  #balancer(id: string): Answer {
    const [balancer] = this.view.balancers([this.balancers.get(id)], "lookup");
    if (balancer === undefined) throw new Refusal(404, "not_found", `balancer ${id} not found`);
    return { status: 200, body: { balancer } };
  }

  #volume(id: string): Answer {
    const [volume] = this.view.volumes([this.volumes.get(id)], "lookup");
    if (volume === undefined) throw new Refusal(404, "not_found", `volume ${id} not found`);
    return { status: 200, body: { volume } };
  }

  #createVolume(
    spec: Partial<SimulatedVolume> & { readonly snapshot?: string; readonly volume?: string },
  ): SimulatedVolume {
    return this.volumes.create({ ...spec, data: this.snapshots.dataFor(spec) });
  }

  #snapshot(id: string): Answer {
    const [snapshot] = this.view.snapshots([this.snapshots.get(id)], "lookup");
    if (snapshot === undefined) throw new Refusal(404, "not_found", `snapshot ${id} not found`);
    return { status: 200, body: { snapshot } };
  }

  /** Whether a lie hides a machine; a simulation may replace it. */
  hides = (machine: Pick<SimulatedMachine, "id" | "name">): boolean =>
    this.faults.isHidden(machine, "listings");

  /** How a machine is shown; a simulation may replace it. */
  shows = (machine: SimulatedMachine): SimulatedMachine => machine;

  #visibleMachines(query: URLSearchParams): readonly SimulatedMachine[] {
    const ids = query.get("ids")?.split(",");
    const names = query.get("names")?.split(",");
    const chosen =
      ids === undefined && names === undefined
        ? this.machines.list()
        : ids === undefined
          ? this.#named(new Set(names))
          : ids.flatMap((id) => (this.machines.has(id) ? this.machines.find(id) : []));
    return chosen.filter((machine) => !this.hides(machine)).map((machine) => this.shows(machine));
  }

  #named(names: ReadonlySet<string>): readonly SimulatedMachine[] {
    return this.machines.list().filter(({ name }) => names.has(name));
  }
}

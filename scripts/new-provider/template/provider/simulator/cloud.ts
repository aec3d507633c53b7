// A small simulated cloud for tests: servers, load balancers and routes as JSON, in the time of the given clock. Rewrite it
// from the API reference of your cloud. It is not part of the executable and must not share code with the provider.

import {
  type Answer,
  type Clock,
  type CloudFault,
  type CommonFault,
  type Delivery,
  RequestRefusal,
  SimulatedApi,
  type SimulatedRequest,
} from "#ccm/testing";

export interface Server {
  readonly id: string;
  /** Names need not be unique. */
  readonly name: string;
  readonly power: "on" | "off" | "leaving";
  readonly kind: string;
  readonly zone: string;
  readonly ip: string;
}

/** A load balancer or a route: the request that created it, and an id. */
type Resource = Readonly<Record<string, unknown>> & { readonly id: string };

/** An error response. */
class Refusal extends RequestRefusal {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  toAnswer(): Answer {
    return { status: this.status, body: { error: { message: this.message } } };
  }
}

/** Besides the faults of every cloud: `short-page` drops the last entry of a page, and still counts it in the total. */
type FaultKind = CommonFault | "short-page";

export class CloudSimulator extends SimulatedApi<FaultKind> {
  readonly servers: Server[] = [];
  readonly resources: Record<"balancers" | "routes", Resource[]> = { balancers: [], routes: [] };
  readonly #busyUntil = new Map<string, number>();
  /** Milliseconds during which a load balancer that was created or changed rejects further changes. */
  readonly #actionTime: number;
  #next = 1;

  constructor(clock: Clock, actionTime = 3000) {
    super({ clock });
    this.#actionTime = actionTime;
  }

  addServer(name: string): void {
    const number = this.#next++;
    const place = { kind: "small", zone: `zone-${number % 3}`, ip: `10.0.${number >> 8}.${number & 255}` };
    this.servers.push({ id: String(number), name, power: "on", ...place });
  }

  changeServer(name: string, power: Server["power"] | "removed"): void {
    for (const server of this.servers.filter((each) => each.name === name)) {
      const changed = power === "removed" ? [] : [{ ...server, power }];
      this.servers.splice(this.servers.indexOf(server), 1, ...changed);
    }
  }

  add(collection: "balancers" | "routes", request: object): Resource {
    const id = `${collection.charAt(0)}${this.#next++}`;
    const ip = collection === "balancers" ? { ip: `192.0.2.${this.#next % 256}` } : {};
    const resource = { ...request, ...ip, id };
    this.resources[collection].push(resource);
    if (collection === "balancers") this.#makeBusy(id);
    return resource;
  }

  receive(request: SimulatedRequest): Delivery {
    const { method, url } = request;
    const [, collection = "", id] = url.pathname.split("/");
    const operation = `${method} /${collection}${id === undefined ? "" : "/{id}"}`;
    const fault = this.faults.next(operation);
    const serve = () => this.#serve(request, collection, id, fault);
    return this.respond(request, { operation, path: url.pathname + url.search, fault, serve });
  }

  protected injected({ status = 503 }: CloudFault<FaultKind>): Answer {
    return new Refusal(status, "injected fault").toAnswer();
  }

  #serve(
    { method, url, authorization, body }: SimulatedRequest,
    collection: string,
    id: string | undefined,
    fault: CloudFault<FaultKind> | undefined,
  ): Answer {
    if (authorization !== "Bearer secret") throw new Refusal(401, "unknown token");
    const pageOf = (all: readonly { id: string; name?: unknown }[]) =>
      this.#page(collection, all, url, fault?.kind === "short-page");
    if (collection === "servers" && method === "GET") return pageOf(this.servers);
    if (collection !== "balancers" && collection !== "routes") throw new Refusal(404, "not found");
    if (method !== "GET") return this.#change(method, collection, id, body as object);
    return pageOf(this.resources[collection].map((each) => ({ ...each, state: this.#stateOf(each.id) })));
  }

  #makeBusy(id: string): void {
    this.#busyUntil.set(id, this.clock.monotonic() + this.#actionTime);
  }

  #stateOf(id: string): "busy" | "ready" {
    return this.clock.monotonic() < (this.#busyUntil.get(id) ?? 0) ? "busy" : "ready";
  }

  #page(
    collection: string,
    all: readonly { id: string; name?: unknown }[],
    { searchParams }: URL,
    isShort: boolean,
  ): Answer {
    const [ids, names] = ["id", "name"].map((key) => searchParams.get(key)?.split(","));
    const chosen = all
      .filter(({ id }) => ids?.includes(id) ?? true)
      .filter(({ name }) => names?.includes(String(name)) ?? true);
    const size = Number(searchParams.get("size") ?? 50);
    const page = Number(searchParams.get("page") ?? 1);
    const items = chosen.slice((page - 1) * size, page * size);
    if (isShort) items.pop();
    const next = page * size < chosen.length ? page + 1 : null;
    return { status: 200, body: { [collection]: items, total: chosen.length, next } };
  }

  #change(method: string, collection: "balancers" | "routes", id: string | undefined, body: object): Answer {
    const resources = this.resources[collection];
    const index = resources.findIndex((each) => each.id === id);
    const existing = resources[index];
    if (method === "POST") {
      const request = body as Resource;
      const isTaken = (key: string) =>
        resources.some((each) => each[key] === request[key] && each[key] !== undefined);
      if (isTaken("name") || isTaken("destination")) throw new Refusal(409, "already exists");
      return { status: 201, body: this.add(collection, request) };
    }
    if (existing === undefined) throw new Refusal(404, `${id} not found`);
    if (this.#stateOf(existing.id) === "busy") throw new Refusal(423, `${id} is busy`);
    if (method === "DELETE") {
      resources.splice(index, 1);
      return { status: 204 };
    }
    const changed = { ...existing, ...body, id: existing.id };
    resources[index] = changed;
    this.#makeBusy(existing.id);
    return { status: 200, body: changed };
  }
}

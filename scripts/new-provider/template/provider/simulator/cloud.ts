// A small simulated cloud for tests: servers, load balancers and routes as JSON, in the time of the given clock. Rewrite it
// from your cloud's API reference. It is not part of the executable and must not share code with the provider.

import type { Transport } from "#ccm";

export interface Server {
  readonly id: string;
  /** Need not be unique. */
  readonly name: string;
  readonly power: "on" | "off" | "leaving";
  readonly kind: string;
  readonly zone: string;
  readonly ip: string;
}

/** A load balancer or a route: the request that created it, and an id. */
type Resource = Readonly<Record<string, unknown>> & { readonly id: string };

class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class CloudSimulator {
  readonly servers: Server[] = [];
  readonly resources: Record<"balancers" | "routes", Resource[]> = { balancers: [], routes: [] };
  /** Drops the last entry of the next page, but still counts it in the total. */
  shortenNextPage = false;
  readonly #busyUntil = new Map<string, number>();
  readonly #clock: { monotonic(): number };
  /** Milliseconds during which a load balancer that was created or changed rejects further changes. */
  readonly #actionTime: number;
  #next = 1;

  constructor(clock: { monotonic(): number }, actionTime = 3000) {
    this.#clock = clock;
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

  readonly transport: Transport = async ({ method, url, headers, body }, signal) => {
    signal.throwIfAborted();
    return this.handle(method, new URL(url), headers?.["authorization"], String(body ?? ""));
  };

  handle(method: string, url: URL, authorization: string | null | undefined, body: string): Response {
    try {
      if (authorization !== "Bearer secret") throw new RequestError(401, "unknown token");
      const [, collection = "", id] = url.pathname.split("/");
      if (collection === "servers" && method === "GET") return this.#page(collection, this.servers, url);
      if (collection !== "balancers" && collection !== "routes") throw new RequestError(404, "not found");
      if (method === "GET") {
        const all = this.resources[collection].map((each) => ({ ...each, state: this.#stateOf(each.id) }));
        return this.#page(collection, all, url);
      }
      return this.#change(method, collection, id, body);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return Response.json({ error: { message: error.message } }, { status: error.status });
    }
  }

  #makeBusy(id: string): void {
    this.#busyUntil.set(id, this.#clock.monotonic() + this.#actionTime);
  }

  #stateOf(id: string): "busy" | "ready" {
    return this.#clock.monotonic() < (this.#busyUntil.get(id) ?? 0) ? "busy" : "ready";
  }

  #page(collection: string, all: readonly { id: string; name?: unknown }[], { searchParams }: URL): Response {
    const [ids, names] = ["id", "name"].map((key) => searchParams.get(key)?.split(","));
    const chosen = all
      .filter(({ id }) => ids?.includes(id) ?? true)
      .filter(({ name }) => names?.includes(String(name)) ?? true);
    const size = Number(searchParams.get("size") ?? 50);
    const page = Number(searchParams.get("page") ?? 1);
    const items = chosen.slice((page - 1) * size, page * size);
    if (this.shortenNextPage) items.pop();
    this.shortenNextPage = false;
    const next = page * size < chosen.length ? page + 1 : null;
    return Response.json({ [collection]: items, total: chosen.length, next });
  }

  #change(
    method: string,
    collection: "balancers" | "routes",
    id: string | undefined,
    body: string,
  ): Response {
    const resources = this.resources[collection];
    const index = resources.findIndex((each) => each.id === id);
    const existing = resources[index];
    if (method === "POST") {
      const request = JSON.parse(body) as Resource;
      const isTaken = (key: string) =>
        resources.some((each) => each[key] === request[key] && each[key] !== undefined);
      if (isTaken("name") || isTaken("destination")) throw new RequestError(409, "already exists");
      return Response.json(this.add(collection, request), { status: 201 });
    }
    if (existing === undefined) throw new RequestError(404, `${id} not found`);
    if (this.#stateOf(existing.id) === "busy") throw new RequestError(423, `${id} is busy`);
    if (method === "DELETE") {
      resources.splice(index, 1);
      return new Response(null, { status: 204 });
    }
    const changed = { ...existing, ...(JSON.parse(body) as object), id: existing.id };
    resources[index] = changed;
    this.#makeBusy(existing.id);
    return Response.json(changed);
  }
}

// A tiny cloud in memory, for tests: servers, balancers and routes over JSON, in the time of the clock it is given. Rewrite
// it from your cloud's reference; it is in no executable, and it must not share code with the provider it proves.

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

/** A balancer or a route: what was ordered, under an id of the cloud. */
type Thing = Readonly<Record<string, unknown>> & { readonly id: string };

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class CloudSimulator {
  readonly servers: Server[] = [];
  readonly things: Record<"balancers" | "routes", Thing[]> = { balancers: [], routes: [] };
  /** The next page lacks its last entry, although the cloud counts it. */
  shortenNextPage = false;
  readonly #busyUntil = new Map<string, number>();
  readonly #clock: { monotonic(): number };
  /** Milliseconds in which a balancer that was made or changed takes no further orders. */
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

  add(collection: "balancers" | "routes", ordered: object): Thing {
    const id = `${collection.charAt(0)}${this.#next++}`;
    const ip = collection === "balancers" ? { ip: `192.0.2.${this.#next % 256}` } : {};
    const thing = { ...ordered, ...ip, id };
    this.things[collection].push(thing);
    if (collection === "balancers") this.#makeBusy(id);
    return thing;
  }

  readonly transport: Transport = async ({ method, url, headers, body }, signal) => {
    signal.throwIfAborted();
    return this.handle(method, new URL(url), headers?.["authorization"], String(body ?? ""));
  };

  handle(method: string, url: URL, authorization: string | null | undefined, body: string): Response {
    try {
      if (authorization !== "Bearer secret") throw new Refusal(401, "this token is not known");
      const [, collection = "", id] = url.pathname.split("/");
      if (collection === "servers" && method === "GET") return this.#page(collection, this.servers, url);
      if (collection !== "balancers" && collection !== "routes") throw new Refusal(404, "no such place");
      if (method === "GET") {
        const all = this.things[collection].map((each) => ({ ...each, state: this.#stateOf(each.id) }));
        return this.#page(collection, all, url);
      }
      return this.#order(method, collection, id, body);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
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

  #order(method: string, collection: "balancers" | "routes", id: string | undefined, body: string): Response {
    const things = this.things[collection];
    const index = things.findIndex((each) => each.id === id);
    const there = things[index];
    if (method === "POST") {
      const ordered = JSON.parse(body) as Thing;
      const isTaken = (key: string) =>
        things.some((each) => each[key] === ordered[key] && each[key] !== undefined);
      if (isTaken("name") || isTaken("destination")) throw new Refusal(409, "there is one already");
      return Response.json(this.add(collection, ordered), { status: 201 });
    }
    if (there === undefined) throw new Refusal(404, `there is no ${id}`);
    if (this.#stateOf(there.id) === "busy") throw new Refusal(423, `${id} is being changed`);
    if (method === "DELETE") {
      things.splice(index, 1);
      return new Response(null, { status: 204 });
    }
    const changed = { ...there, ...(JSON.parse(body) as object), id: there.id };
    things[index] = changed;
    this.#makeBusy(there.id);
    return Response.json(changed);
  }
}

// Quarry in memory, one instance per region: jobs that may fail, ETags, a listing of pools that lags, members that it rejects singly,
// and a quota.

import { type Clock, RequestLimit } from "#ccm/testing";

interface Pool {
  readonly id: string;
  readonly token: string;
  readonly labels: Readonly<Record<string, string>>;
  spec: object;
  members: readonly { readonly machine: string; readonly node: string }[];
  rejected: readonly { readonly node: string; readonly why: string }[];
  front: { readonly id: string; readonly address: string } | null;
  version: number;
  readyAt: number;
  readonly listedFrom: number;
  /** Whether the creation failed, so that the pool can only be deleted. */
  readonly isBroken: boolean;
}

const refuse = (status: number, fault: string): Response => Response.json({ fault }, { status });
const jobTime = 3000;
/** The time for which listings show an older state, in ms. */
const lag = 1000;
const pageSize = 3;

export class RegionCloud {
  readonly machines: { id: string; name: string; ip: string }[] = [];
  readonly pools = new Map<string, Pool>();
  /** Pools that are deleted but still listed, until this time. */
  readonly #deleted: { readonly pool: Pool; readonly until: number }[] = [];
  readonly #jobs = new Map<string, { readonly due: number; readonly fails: boolean }>();
  readonly quota: RequestLimit;
  readonly #clock: Clock;
  routes: readonly { readonly to: string; readonly machine: string; readonly note: string }[] = [
    { to: "10.9.0.0/16", machine: "gateway", note: "by hand" },
  ];
  revision = 1;
  rejects: (machine: string) => boolean = () => false;
  /** The number of pool creations, from the next one, that fail. */
  failures = 0;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.quota = new RequestLimit(clock, 36_000);
  }

  handle(method: string, url: URL, headers: Readonly<Record<string, string>>, text: string): Response {
    if (!this.quota.take()) {
      const headers = { "x-quota-left": "0", "x-quota-wait-ms": "1000" };
      return Response.json({ fault: "the quota is used up" }, { status: 429, headers });
    }
    const sent = text === "" ? {} : JSON.parse(text);
    const [, kind = "", id = "", part] = url.pathname.split("/");
    if (kind === "machines") return this.#list(Number(url.searchParams.get("after") ?? "0"));
    if (kind === "jobs") return this.#jobStates(url.searchParams.getAll("id"));
    if (kind === "networks") return this.#routes(method, headers["if-match"], sent);
    if (kind === "fronts") return this.#deleteFront(id);
    if (part === "front") return this.#createFront(id);
    if (method === "POST") return this.#create(sent);
    if (id === "") return this.#listPools();
    return this.#change(method, id, headers["if-match"], sent);
  }

  #list(after: number): Response {
    const end = after + pageSize;
    const next = end < this.machines.length ? String(end) : undefined;
    return Response.json({ machines: this.machines.slice(after, end), next });
  }

  #listPools(): Response {
    const now = this.#clock.monotonic();
    const shown = [...this.pools.values()].filter(({ listedFrom }) => listedFrom <= now);
    const gone = this.#deleted.flatMap(({ pool, until }) => (until > now ? [pool] : []));
    return Response.json({ pools: [...shown, ...gone].map(({ id, labels }) => ({ id, labels })) });
  }

  #startJob(pool: Pool): Response {
    const job = `job-${++this.#count}`;
    pool.readyAt = this.#clock.monotonic() + jobTime;
    this.#jobs.set(job, { due: pool.readyAt, fails: pool.isBroken });
    return Response.json({ id: pool.id, job }, { status: 202 });
  }

  #jobStates(ids: readonly string[]): Response {
    const now = this.#clock.monotonic();
    const jobs = ids.flatMap((id) => {
      const job = this.#jobs.get(id);
      if (job === undefined) return [];
      if (job.due > now) return [{ id, state: "running" }];
      return [job.fails ? { id, state: "failed", fault: "no host has room" } : { id, state: "done" }];
    });
    return Response.json({ jobs });
  }

  /** The same token returns the same pool. */
  #create({ token, labels, ...spec }: Pool): Response {
    const known = [...this.pools.values()].find((pool) => pool.token === token);
    if (known !== undefined) return this.#startJob(known);
    const now = this.#clock.monotonic();
    const empty = { spec: {}, members: [], rejected: [], front: null, version: 1, readyAt: now };
    const isBroken = this.failures > 0;
    if (isBroken) this.failures -= 1;
    const pool = { ...empty, id: `p${++this.#count}`, token, labels, listedFrom: now + lag, isBroken };
    this.pools.set(pool.id, pool);
    this.#write(pool, spec);
    return this.#startJob(pool);
  }

  #write(
    pool: Pool,
    { members, ...spec }: Pick<Pool, "members"> & { rules?: unknown; ranges?: unknown },
  ): void {
    pool.spec = spec;
    pool.members = members.filter(({ machine }) => !this.rejects(machine));
    pool.rejected = members
      .filter(({ machine }) => this.rejects(machine))
      .map(({ node }) => ({ node, why: "the machine is too old" }));
    pool.version += 1;
  }

  #createFront(id: string): Response {
    const pool = this.pools.get(id);
    if (pool === undefined) return refuse(404, `no pool ${id}`);
    pool.front ??= { id: `f-${id}`, address: `192.0.2.${this.pools.size}` };
    return this.#startJob(pool);
  }

  #deleteFront(id: string): Response {
    const pool = [...this.pools.values()].find(({ front }) => front?.id === id);
    if (pool === undefined) return refuse(404, `no front ${id}`);
    pool.front = null;
    return new Response(null, { status: 204 });
  }

  #change(method: string, id: string, match: string | undefined, sent: Pool): Response {
    const pool = this.pools.get(id);
    if (pool === undefined) return refuse(404, `no pool ${id}`);
    const now = this.#clock.monotonic();
    const { spec, version, readyAt, isBroken, listedFrom: _, token: __, ...shown } = pool;
    if (method === "GET") {
      const state = readyAt > now ? "busy" : isBroken ? "broken" : "ready";
      return Response.json({ ...shown, ...spec, state }, { headers: { etag: `"${version}"` } });
    }
    if (readyAt > now) return refuse(409, `pool ${id} is busy`);
    if (method === "DELETE") {
      if (pool.front !== null) return refuse(422, `pool ${id} has a front`);
      this.pools.delete(id);
      this.#deleted.push({ pool, until: now + lag });
      return new Response(null, { status: 204 });
    }
    if (match !== `"${version}"`) return refuse(412, `pool ${id} has version ${version}`);
    const { rules, ranges, members } = sent as Pool & { rules: unknown; ranges: unknown };
    this.#write(pool, { members, rules, ranges });
    return new Response(null, { status: 204 });
  }

  #routes(method: string, match: string | undefined, { routes }: Pick<RegionCloud, "routes">): Response {
    if (method === "GET")
      return Response.json({ routes: this.routes }, { headers: { etag: String(this.revision) } });
    if (match !== String(this.revision)) return refuse(412, `the routes have revision ${this.revision}`);
    if (new Set(routes.map(({ to }) => to)).size < routes.length)
      return refuse(422, "two routes have the same destination");
    this.routes = routes;
    this.revision += 1;
    return new Response(null, { status: 204 });
  }
}

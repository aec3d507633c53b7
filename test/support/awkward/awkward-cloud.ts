// A simulated cloud with an inconvenient API: two sites, lookups by one name at a time, load balancers that are known only by id
// and created by jobs, and routes in one document with a revision.

import type { Transport } from "../../../src/platform/transport.ts";

export interface AwkwardMachine {
  readonly serial: string;
  readonly name: string;
  readonly power: "on" | "off" | "leaving";
}

export interface AwkwardFront {
  readonly user: string;
  readonly protocol: string;
  readonly port: number;
  readonly to: number;
  readonly nodes: readonly string[];
}

interface Balancer {
  readonly token: string;
  readonly address: string;
  readonly network: string;
  fronts: readonly AwkwardFront[];
}

export interface AwkwardEntry {
  /** A range, or the word "default". */
  readonly to: string;
  readonly via: string;
  readonly note?: string;
}

const pageSize = 2;

export class AwkwardCloud {
  readonly machines: Record<string, AwkwardMachine[]> = { east: [], west: [] };
  readonly balancers = new Map<string, Balancer>();
  entries: readonly AwkwardEntry[] = [{ to: "default", via: "gateway", note: "do not touch" }];
  revision = 1;
  /** Jobs that create a load balancer. A job is done at the second check. */
  readonly #jobs = new Map<string, { readonly balancer: string; checks: number }>();
  #next = 1;

  add(site: string, name: string): void {
    this.machines[site]?.push({ serial: String(this.#next++), name, power: "on" });
  }

  change(name: string, change: (machine: AwkwardMachine) => AwkwardMachine | undefined): void {
    for (const [site, machines] of Object.entries(this.machines)) {
      this.machines[site] = machines.flatMap((machine) =>
        machine.name === name ? (change(machine) ?? []) : machine,
      );
    }
  }

  readonly transport: Transport = async ({ method, url, body, headers }, signal) => {
    signal.throwIfAborted();
    const { pathname, searchParams } = new URL(url);
    const [area = "", what = "", id = ""] = pathname.split("/").slice(1).map(decodeURIComponent);
    const wanted = typeof body === "string" ? JSON.parse(body) : undefined;
    if (this.machines[area] !== undefined)
      return this.#machines(this.machines[area], what, id, searchParams.get("after"));
    if (area === "networks") return Response.json({ networks: ["net-a", "net-b"] });
    if (area === "jobs") return this.#checkJobs(searchParams.get("ids")?.split(",") ?? []);
    if (area === "balancers") return this.#balancer(method, what, wanted);
    if (area === "routes") return this.#routes(method, headers?.["if-match"], wanted);
    return refuse(404, "not found");
  };

  #machines(machines: readonly AwkwardMachine[], what: string, name: string, after: string | null): Response {
    if (what === "serials") {
      const serials = new Set(name.split(","));
      return Response.json({ machines: machines.filter(({ serial }) => serials.has(serial)) });
    }
    if (name !== "") return Response.json({ machines: machines.filter((machine) => machine.name === name) });
    const start = after === null ? 0 : machines.findIndex(({ serial }) => serial === after) + 1;
    const page = machines.slice(start, start + pageSize);
    const next = start + pageSize < machines.length ? page.at(-1)?.serial : undefined;
    return Response.json({ machines: page, next });
  }

  /** The same token returns the same load balancer for as long as the load balancer exists. */
  #balancer(
    method: string,
    id: string,
    wanted: { token: string; network: string; fronts: AwkwardFront[] },
  ): Response {
    if (method === "POST") {
      const known = [...this.balancers].find(([, { token }]) => token === wanted.token)?.[0];
      const made = known ?? `lb-${this.#next++}`;
      if (known === undefined)
        this.balancers.set(made, {
          token: wanted.token,
          address: "198.51.100.9",
          network: wanted.network,
          fronts: [],
        });
      const job = `job-${this.#next++}`;
      this.#jobs.set(job, { balancer: made, checks: 0 });
      return Response.json({ job });
    }
    const balancer = this.balancers.get(id);
    if (balancer === undefined) return refuse(404, "no such balancer");
    if (method === "PUT") balancer.fronts = wanted.fronts;
    if (method === "DELETE") this.balancers.delete(id);
    return Response.json({ id, ...balancer });
  }

  #checkJobs(ids: readonly string[]): Response {
    const jobs = ids.flatMap((id) => {
      const job = this.#jobs.get(id);
      if (job === undefined) return [];
      job.checks += 1;
      return [{ id, ...(job.checks > 1 && { made: job.balancer }) }];
    });
    return Response.json({ jobs });
  }

  #routes(method: string, revision: string | undefined, wanted: { entries: AwkwardEntry[] }): Response {
    if (method === "PUT") {
      if (revision !== String(this.revision)) return refuse(412, "the route table has a different revision");
      this.entries = wanted.entries;
      this.revision++;
    }
    return Response.json({ revision: String(this.revision), entries: this.entries });
  }
}

const refuse = (status: number, fault: string): Response => Response.json({ fault }, { status });

// A cloud that breaks what a conformance suite could take for granted: keys are UUIDs, names are unique, a lookup takes one
// request per key, targets must exist, machines cannot be stopped, and jobs end with the next request after they are due.

import {
  type BalancerPort,
  CloudError,
  type Context,
  defineProvider,
  done,
  type Instance,
  inProgress,
  jsonApi,
  type ObservedLoadBalancer,
  pagesByNumber,
  parseCidr,
  providerID,
  publishIPs,
  type ServiceUID,
  type Step,
  seconds,
  type Transport,
} from "#ccm";
import type { Clock, Harness } from "#ccm/testing";

interface Machine {
  readonly id: string;
  readonly name: string;
}
interface Balancer {
  readonly name: string;
  readonly cluster: string;
  readonly owner: string;
  readonly ports: readonly number[];
  readonly members: readonly string[];
}
interface Route {
  readonly range: string;
  readonly machine: string;
}

const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const isUUID = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
const refuse = (status: number, fault: string): Response => Response.json({ fault }, { status });
const pageSize = 3;

class LazyCloud {
  readonly machines: Machine[] = [];
  readonly balancers = new Map<string, Balancer>();
  readonly routes = new Map<string, Route>();
  readonly #jobs: { readonly due: number; readonly about: string; readonly end: () => void }[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(name: string): string {
    if (this.machines.some((machine) => machine.name === name)) throw new Error(`${name} exists`);
    const id = uuidOf(this.machines.length + 1);
    this.machines.push({ id, name });
    return id;
  }

  settle(): void {
    const due = this.#jobs.filter((job) => job.due <= this.#clock.monotonic());
    for (const job of due) {
      this.#jobs.splice(this.#jobs.indexOf(job), 1);
      job.end();
    }
  }

  readonly transport: Transport = async ({ method, url, body }, signal) => {
    signal.throwIfAborted();
    this.settle();
    const { pathname, searchParams } = new URL(url);
    const [, collection = "", id = ""] = pathname.split("/").map(decodeURIComponent);
    const sent = typeof body === "string" ? JSON.parse(body) : {};
    if (collection === "machines") return this.#find(id, Number(searchParams.get("page") ?? "1"));
    if (method === "GET") {
      const items = collection === "balancers" ? this.balancers : this.routes;
      return Response.json({ items: [...items].map(([key, item]) => ({ id: key, ...item })) });
    }
    return collection === "balancers" ? this.#change(method, id, sent) : this.#route(method, id, sent);
  };

  #find(id: string, page: number): Response {
    if (id === "") {
      const items = this.machines.slice((page - 1) * pageSize, page * pageSize);
      const next = page * pageSize < this.machines.length ? page + 1 : null;
      return Response.json({ items, next, total: this.machines.length });
    }
    if (!isUUID(id)) return refuse(400, `${id} is no UUID`);
    return Response.json({ items: this.machines.filter((machine) => machine.id === id) });
  }

  #exists(ids: readonly string[]): boolean {
    return ids.every((id) => this.machines.some((machine) => machine.id === id));
  }

  #change(method: string, id: string, sent: Balancer): Response {
    if (this.#jobs.some(({ about }) => about === id)) return refuse(409, `${id} has a job`);
    if (method !== "DELETE" && !this.#exists(sent.members)) return refuse(422, "a member does not exist");
    const end = () => (method === "DELETE" ? this.balancers.delete(id) : this.balancers.set(id, sent));
    this.#jobs.push({ due: this.#clock.monotonic() + 3000, about: id, end });
    return Response.json({});
  }

  #route(method: string, id: string, sent: Route): Response {
    const other = [...this.routes].find(([key, { range }]) => key !== id && range === sent.range);
    if (method === "DELETE") this.routes.delete(id);
    else if (other !== undefined) return refuse(409, `${other[0]} has this range`);
    else if (this.#exists([sent.machine])) this.routes.set(id, sent);
    else return refuse(422, "the machine does not exist");
    return Response.json({});
  }
}

interface Observed extends ObservedLoadBalancer {
  readonly balancer: Balancer & { readonly id: string };
}
type LazyStep = Step & { readonly id: string; readonly body?: Balancer };

const isFault = (body: unknown): boolean => typeof (body as { fault?: unknown })?.fault === "string";

export const lazy = defineProvider({
  contract: 2,
  name: "lazy",
  schemes: ["lazy://"],
  config: {},
  connect: (_settings, { account, mark }: Context) => {
    const { transport } = account({ name: "lazy", fetch: async () => ({ value: "" }), sign: (one) => one });
    const api = jsonApi({
      base: "https://lazy.example",
      transport,
      isApiError: isFault,
      readError: (_, status) => ({ kind: status === 409 ? "busy" : undefined }),
    });
    const get = <T>(path: string, call: Parameters<typeof api.call>[1], query = {}) =>
      api.call<{ items?: T[]; next?: number | null; total?: number }>(
        { operation: "Get", method: "GET", path, query },
        call,
      );
    const all = async <T>(path: string, call: Parameters<typeof api.call>[1]): Promise<readonly T[]> => {
      const { items } = await get<T>(path, call);
      if (items === undefined) throw new CloudError("unavailable", "No items.", { operation: "Get" });
      return items;
    };
    const send = (
      method: "PUT" | "DELETE",
      path: string,
      call: Parameters<typeof api.call>[1],
      body?: object,
    ) => api.call<unknown>({ operation: method, method, path, body }, call);
    const prefix = `${mark.cluster}-`;
    const ownershipOf = (id: string) => (id.startsWith(prefix) ? "marked" : "foreign");
    const toInstance = ({ id, name }: Machine): Instance => ({
      ...{ key: id, id: providerID(`lazy://${id}`), names: [name], title: name, state: "running" },
      ...{ addresses: [], type: "" },
    });
    const portsOf = (ports: readonly BalancerPort[]) => ports.map(({ port }) => port);
    return {
      instances: {
        matchBy: ["name"],
        sources: [
          {
            name: "eu",
            keyOf: (id) => /^lazy:\/\/(.+)$/.exec(id)?.[1],
            list: async function* (call) {
              const pages = pagesByNumber<Machine>({ operation: "Get" }, async (page) => {
                const { items, next, total } = await get<Machine>("/machines", call, { page });
                return { items, next, total };
              });
              for await (const page of pages) yield page.map(toInstance);
            },
            lookups: {
              id: {
                limit: 2,
                find: async (keys, call) => {
                  const found = new Map<string, readonly Instance[]>();
                  for (const key of keys)
                    found.set(key, (await all<Machine>(`/machines/${key}`, call)).map(toInstance));
                  return found;
                },
              },
            },
          },
        ],
      },
      loadBalancers: {
        list: async function* (call) {
          const items = await all<Observed["balancer"]>("/balancers", call);
          yield items.map((balancer): Observed => {
            const owner = balancer.owner as ServiceUID;
            const ownership = balancer.cluster === mark.cluster ? "ours" : "foreign";
            return { group: owner, owners: [owner], ownership, state: "ready", balancer };
          });
        },
        plan: ([desired], observed) => {
          const id = observed?.balancer.id ?? desired?.defaultName ?? "";
          if (desired === undefined || desired.ending !== undefined)
            return { steps: observed === undefined ? [] : [{ do: "delete", on: id, id }] };
          const members = desired.targets.flatMap(({ machine }) => machine?.key ?? []);
          const body = {
            name: id,
            cluster: mark.cluster,
            owner: desired.owner.uid,
            ports: portsOf(desired.ports),
            members,
          };
          const { id: _, ...before } = observed?.balancer ?? { id };
          const isSame = JSON.stringify(before) === JSON.stringify(body);
          return { steps: isSame ? [] : [{ do: "write", on: id, id, body }] };
        },
        apply: async ({ id, body }: LazyStep, call) => {
          await send(body === undefined ? "DELETE" : "PUT", `/balancers/${id}`, call, body);
          return inProgress("the job", { checkAfter: seconds(5) });
        },
        publish: (_, observed) => publishIPs([observed && "192.0.2.1"], "the balancer"),
      },
      routes: {
        style: "one-by-one",
        families: ["IPv4"],
        list: async function* (call) {
          const items = await all<Route & { readonly id: string }>("/routes", call);
          yield {
            routes: items.flatMap(({ id, range, machine }) => {
              const destination = parseCidr(range);
              if (destination === undefined) return [];
              return { handle: id, destination, targetKey: machine, ownership: ownershipOf(id) };
            }),
          };
        },
        create: async ({ destination, target }, call) => {
          const id = encodeURIComponent(`${prefix}${destination}`);
          await send("PUT", `/routes/${id}`, call, { range: destination, machine: target.machine?.key });
          return done();
        },
        remove: async ({ handle }, call) => {
          await send("DELETE", `/routes/${encodeURIComponent(handle)}`, call);
          return done();
        },
      },
    };
  },
});

export const lazyHarness: Harness = {
  definition: lazy,
  config: {},
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)),
  lookupRequests: (_, keys) => keys,
  unknownKeys: { id: uuidOf(404) },
  hasUniqueNames: true,
  targets: (simulated) => {
    const machine = (number: number) => {
      simulated.addMachine(`target-${number}`);
      return { source: "eu", key: uuidOf(number), addresses: [`10.7.0.${number}`] };
    };
    return [machine(1), machine(2), machine(3)];
  },
  simulate: (clock) => {
    const cloud = new LazyCloud(clock);
    return {
      transport: cloud.transport,
      addMachine: (name) => void cloud.add(name),
      removeMachine: (name) => {
        cloud.machines.splice(
          cloud.machines.findIndex((machine) => machine.name === name),
          1,
        );
      },
      settle: () => cloud.settle(),
      state: () => [
        [...cloud.balancers].toSorted(([one], [other]) => one.localeCompare(other)),
        [...cloud.routes].toSorted(([one], [other]) => one.localeCompare(other)),
      ],
    };
  },
};

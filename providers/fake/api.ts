// The API of the fake cloud: the types of its responses, with the fields in use, and one function per operation.

import { type Call, type CloudTransport, jsonApi, numberedPages, type QueryValue } from "#ccm";

export interface ApiMachine {
  readonly id: string;
  readonly name: string;
  readonly status: "running" | "stopped" | "terminating";
  readonly type: string;
  readonly zone: string;
  readonly private_ip: string;
  readonly public_ip: string;
}

export interface ApiListener {
  readonly protocol: string;
  readonly port: number;
  readonly target_port: number;
}

export interface ApiBalancer {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: "active" | "changing" | "failed";
  readonly ip: string;
  readonly ipv6: string | null;
  readonly families: readonly string[];
  /** CIDRs of the clients that may connect. */
  readonly sources: readonly string[];
  readonly algorithm: "round-robin" | "least-connections";
  readonly listeners: readonly ApiListener[];
  readonly targets: readonly string[];
  /** Targets that get no new connections. */
  readonly draining: readonly string[];
}

/** The body of a request that creates or changes a balancer. */
export type BalancerSpec = Partial<
  Pick<
    ApiBalancer,
    "name" | "labels" | "ip" | "families" | "sources" | "algorithm" | "listeners" | "targets" | "draining"
  >
>;

export interface ApiRoute {
  readonly id: string;
  readonly destination: string;
  readonly machine: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Meta {
  readonly total: number;
  readonly next_page: number | null;
}

export interface ApiOptions {
  readonly base: string;
  readonly transport: CloudTransport;
  readonly pageSize: number;
}

function isApiError(body: unknown): boolean {
  return typeof (body as { error?: { code?: unknown } } | undefined)?.error?.code === "string";
}

export function fakeApi({ base, transport, pageSize }: ApiOptions) {
  const api = jsonApi({ base: `${base}/v1`, transport, isApiError });

  const list = numberedPages<{ readonly meta?: Meta }>(api, {
    query: { per_page: pageSize },
    read: ({ meta }) => ({ total: meta?.total, next: meta?.next_page }),
  });

  const send = <T>(method: "POST" | "PATCH" | "DELETE", path: string, call: Call, body?: unknown) => {
    const operation = `${method} ${path.replace(/(?<=\/\w+\/).+/, "{id}")}`;
    const expects = path.startsWith("/balancers") && body !== undefined ? ["balancer"] : undefined;
    return api.call<T>({ operation, method, path, body, expects }, call);
  };

  const lookup = (id: string) =>
    ({
      operation: "GET /balancers/{id}",
      method: "GET",
      path: `/balancers/${id}`,
      expects: ["balancer"],
    }) as const;

  return {
    machines: (call: Call, query?: Readonly<Record<string, QueryValue>>) =>
      list<ApiMachine>("machines", call, query),
    balancers: (call: Call) => list<ApiBalancer>("balancers", call),
    balancer: (id: string, call: Call) => api.call<unknown>(lookup(id), call),
    createBalancer: (spec: BalancerSpec, call: Call) =>
      send<{ readonly balancer: ApiBalancer }>("POST", "/balancers", call, spec),
    changeBalancer: (id: string, spec: BalancerSpec, call: Call) =>
      send<{ readonly balancer: ApiBalancer }>("PATCH", `/balancers/${id}`, call, spec),
    deleteBalancer: (id: string, call: Call) => send<undefined>("DELETE", `/balancers/${id}`, call),
    routes: (call: Call) => list<ApiRoute>("routes", call),
    createRoute: (route: Omit<ApiRoute, "id">, call: Call) => send<unknown>("POST", "/routes", call, route),
    deleteRoute: (id: string, call: Call) => send<undefined>("DELETE", `/routes/${id}`, call),
  };
}

export type FakeApi = ReturnType<typeof fakeApi>;

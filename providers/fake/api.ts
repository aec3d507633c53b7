// The API of the fake cloud: the types of its responses, with the fields in use, and one function per operation.

import { type Call, type CloudTransport, type ErrorReport, jsonApi, numberedPages, type Query } from "#ccm";

export interface ApiMachine {
  readonly id: string;
  readonly name: string;
  readonly status: "running" | "stopped" | "terminating";
  readonly type: string;
  readonly zone: string;
  readonly private_ip: string;
  readonly public_ip: string;
  /** Absent on machines that `answer-any-node` invents. */
  readonly labels?: Readonly<Record<string, string>>;
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

export interface ApiVolume {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: "available" | "changing";
  readonly tier: "standard" | "fast";
  /** The size in GiB. */
  readonly size: number;
  readonly zone: string;
  /** The machine to which the volume is attached. */
  readonly machine: string | null;
}

export interface ApiSnapshot {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: "creating" | "uploading" | "ready" | "failed";
  /** The size in GiB. */
  readonly size: number;
  readonly volume: string;
  readonly created_at: string;
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

interface ApiErrorBody {
  readonly error: { readonly code: string; readonly message?: string };
}

function readError(body: unknown): ErrorReport | undefined {
  const { code, message } = (body as Partial<ApiErrorBody> | undefined)?.error ?? {};
  if (code === undefined) return undefined;
  return { message, kind: code === "limit_exceeded" ? "quota" : undefined };
}

export function fakeApi({ base, transport, pageSize }: ApiOptions) {
  const api = jsonApi({ base: `${base}/v1`, transport, readError });

  const list = numberedPages<{ readonly meta?: Meta }>(api, {
    query: { per_page: pageSize },
    read: ({ meta }) => ({ total: meta?.total, next: meta?.next_page }),
  });

  const send = <T>(method: "POST" | "PATCH" | "DELETE", path: string, call: Call, body?: unknown) => {
    const operation = `${method} ${path.replace(/(?<=\/\w+\/).+/, "{id}")}`;
    const [, object] = /^\/(balancer|volume|snapshot)s/.exec(path) ?? [];
    const expects = object !== undefined && body !== undefined ? [object] : undefined;
    return api.call<T>({ operation, method, path, body, expects }, call);
  };

  const lookup = (object: "balancer" | "volume" | "snapshot", id: string) =>
    ({
      operation: `GET /${object}s/{id}`,
      method: "GET",
      path: `/${object}s/${encodeURIComponent(id)}`,
      expects: [object],
    }) as const;

  return {
    machines: (call: Call, query?: Query) => list<ApiMachine>("machines", call, query),
    balancers: (call: Call, query?: Query) => list<ApiBalancer>("balancers", call, query),
    balancer: (id: string, call: Call) =>
      api.call<{ readonly balancer: ApiBalancer }>(lookup("balancer", id), call),
    createBalancer: (spec: BalancerSpec, call: Call) =>
      send<{ readonly balancer: ApiBalancer }>("POST", "/balancers", call, spec),
    changeBalancer: (id: string, spec: BalancerSpec, call: Call) =>
      send<{ readonly balancer: ApiBalancer }>("PATCH", `/balancers/${id}`, call, spec),
    deleteBalancer: (id: string, call: Call) => send<undefined>("DELETE", `/balancers/${id}`, call),
    routes: (call: Call) => list<ApiRoute>("routes", call),
    createRoute: (route: Omit<ApiRoute, "id">, call: Call) => send<unknown>("POST", "/routes", call, route),
    volumes: (call: Call) => list<ApiVolume>("volumes", call),
    volume: (id: string, call: Call) => api.call<{ readonly volume: ApiVolume }>(lookup("volume", id), call),
    createVolume: (
      spec: Pick<ApiVolume, "name" | "labels" | "tier" | "size"> & {
        readonly zone?: string;
        readonly snapshot?: string;
        readonly volume?: string;
      },
      call: Call,
    ) => send<{ readonly volume: ApiVolume }>("POST", "/volumes", call, spec),
    changeVolume: (id: string, spec: Partial<Pick<ApiVolume, "size" | "machine">>, call: Call) =>
      send<{ readonly volume: ApiVolume }>("PATCH", `/volumes/${id}`, call, spec),
    snapshots: (call: Call) => list<ApiSnapshot>("snapshots", call),
    snapshot: (id: string, call: Call) =>
      api.call<{ readonly snapshot: ApiSnapshot }>(lookup("snapshot", id), call),
    createSnapshot: (spec: Pick<ApiSnapshot, "name" | "labels" | "volume">, call: Call) =>
      send<{ readonly snapshot: ApiSnapshot }>("POST", "/snapshots", call, spec),
    deleteSnapshot: (id: string, call: Call) => send<undefined>("DELETE", `/snapshots/${id}`, call),
    deleteVolume: (id: string, call: Call) => send<undefined>("DELETE", `/volumes/${id}`, call),
    deleteRoute: (id: string, call: Call) => send<undefined>("DELETE", `/routes/${id}`, call),
  };
}

export type FakeApi = ReturnType<typeof fakeApi>;

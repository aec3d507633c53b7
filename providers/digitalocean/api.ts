// The DigitalOcean API: what its errors mean, and one function per kind of request.

import {
  bearer,
  type Call,
  type Context,
  type ErrorReport,
  jsonApi,
  knownValues,
  mapEntries,
  numberedPages,
  objectReader,
  type Secret,
} from "#ccm";
import type {
  ApiAction,
  ApiCertificate,
  ApiDroplet,
  ApiFirewall,
  ApiLoadBalancer,
  ApiSnapshot,
  ApiVolume,
} from "./resources.ts";

interface ApiErrorBody {
  readonly id: string;
  readonly message?: string;
}

/** The API has one status for several errors; only their texts differ. */
function readError(body: unknown, status: number): ErrorReport | undefined {
  const { id, message = "no message" } = (body ?? {}) as Partial<ApiErrorBody>;
  if (typeof id !== "string") return undefined;
  const isAmbiguous = status === 403 || status === 409 || status === 422;
  const isBusy = /previous action|pending|in progress|being (created|updated)/i.test(message);
  const kind = isBusy ? "busy" : /\blimit\b|quota|cannot attach more/i.test(message) ? "quota" : undefined;
  return { message: `${message} [${id}]`, kind: isAmbiguous ? kind : undefined, scope: "account" };
}

interface Paged {
  readonly links?: { readonly pages?: { readonly next?: string } };
  readonly meta?: { readonly total?: number };
}

function nextPage({ links }: Paged): number | undefined {
  const next = links?.pages?.next;
  return next === undefined ? undefined : Number(new URL(next).searchParams.get("page"));
}

/** `readToken` is called again when the cloud has rejected the token. */
export function digitalOceanApi(
  endpoint: string,
  readToken: () => Secret,
  { account, announce }: Pick<Context, "account" | "announce">,
) {
  const fetch = async () => ({ value: readToken() });
  const { transport } = account<Secret>({
    name: "digitalocean",
    fetch,
    sign: bearer,
    requestsPerMinute: 250,
  });
  const api = jsonApi({ base: `${endpoint.replace(/\/+$/, "")}/v2`, transport, readError });
  const read = objectReader(api);
  const pages = numberedPages<Paged>(api, {
    // The largest page that the API serves.
    query: { per_page: 200 },
    read: (body) => ({ next: nextPage(body), total: body.meta?.total }),
  });
  const checked = <T extends { readonly status: string }>(field: string, ...values: readonly string[]) => {
    const check = knownValues(announce, field, values);
    return (one: T): T => {
      check(one.status);
      return one;
    };
  };
  const droplet = checked<ApiDroplet>("droplet.status", "new", "active", "off", "archive");
  const balancer = checked<ApiLoadBalancer>("load_balancer.status", "new", "active", "errored");
  return {
    call: api.call,
    droplets: (call: Call, name?: string) =>
      mapEntries(pages<ApiDroplet>("droplets", call, { name }), droplet),
    droplet: (id: string, call: Call) => read<ApiDroplet>("droplets", id, call),
    loadBalancers: (call: Call) => mapEntries(pages<ApiLoadBalancer>("load_balancers", call), balancer),
    loadBalancer: (id: string, call: Call) => read<ApiLoadBalancer>("load_balancers", id, call),
    certificates: (call: Call) => pages<ApiCertificate>("certificates", call),
    regions: (call: Call) => pages<{ readonly slug: string }>("regions", call),
    vpc: (id: string, call: Call) => read<object>("vpcs", id, call),
    volumes: (call: Call) => pages<ApiVolume>("volumes", call),
    volume: (id: string, call: Call) => read<ApiVolume>("volumes", id, call),
    snapshots: (call: Call) => pages<ApiSnapshot>("snapshots", call, { resource_type: "volume" }),
    snapshot: (id: string, call: Call) => read<ApiSnapshot>("snapshots", id, call),
    action: (id: string, call: Call) => read<ApiAction>("actions", id, call),
    volumeActions: (id: string, call: Call) => pages<ApiAction>("volumes/{id}/actions", call, {}, id),
    firewalls: (call: Call) => pages<ApiFirewall>("firewalls", call),
  };
}

export type DigitalOceanApi = ReturnType<typeof digitalOceanApi>;

// The DigitalOcean API: what its errors mean, and one function per kind of request.

import {
  bearer,
  type Call,
  type CloudErrorKind,
  type Context,
  type ErrorReport,
  jsonApi,
  numberedPages,
  type Secret,
} from "#ccm";
import type { ApiCertificate, ApiDroplet, ApiLoadBalancer } from "./resources.ts";

interface ApiErrorBody {
  readonly id: string;
  readonly message?: string;
}

export function isApiError(body: unknown): body is ApiErrorBody {
  return typeof (body as Partial<ApiErrorBody> | undefined)?.id === "string";
}

/** The API has one status for several errors; only their texts differ. */
function kindOf(status: number, message: string): CloudErrorKind | undefined {
  if (status !== 403 && status !== 409 && status !== 422) return undefined;
  if (/previous action|pending|in progress|being (created|updated)/i.test(message)) return "busy";
  return /\blimit\b|quota/i.test(message) ? "quota" : undefined;
}

export function readError(body: unknown, status: number): ErrorReport {
  if (!isApiError(body)) return {};
  const { id, message = "no message" } = body;
  return { message: `${message} [${id}]`, kind: kindOf(status, message), scope: "account" };
}

interface Paged {
  readonly links?: { readonly pages?: { readonly next?: string } };
  readonly meta?: { readonly total?: number };
}

/** The largest page that the API serves. */
const pageSize = 200;

export interface ApiOptions {
  readonly endpoint: string;
  /** Called again when the cloud has rejected the token. */
  readonly readToken: () => Secret;
  readonly account: Context["account"];
}

function nextPage({ links }: Paged): number | undefined {
  const next = links?.pages?.next;
  return next === undefined ? undefined : Number(new URL(next).searchParams.get("page"));
}

export function digitalOceanApi({ endpoint, readToken, account }: ApiOptions) {
  const { transport } = account<Secret>({
    name: "digitalocean",
    fetch: async () => ({ value: readToken() }),
    sign: bearer,
  });
  const api = jsonApi({ base: `${endpoint.replace(/\/+$/, "")}/v2`, transport, isApiError, readError });
  const pages = numberedPages<Paged>(api, {
    query: { per_page: pageSize },
    read: (body) => ({ next: nextPage(body), total: body.meta?.total }),
  });
  return {
    ...api,
    droplets: (call: Call, name?: string) => pages<ApiDroplet>("droplets", call, { name }),
    droplet: async (id: string, call: Call) =>
      (
        await api.call<{ readonly droplet: ApiDroplet }>(
          { operation: "GET /droplets/{id}", method: "GET", path: `/droplets/${id}`, expects: ["droplet"] },
          call,
        )
      ).droplet,
    loadBalancers: (call: Call) => pages<ApiLoadBalancer>("load_balancers", call),
    loadBalancer: async (id: string, call: Call) => {
      const path = `/load_balancers/${id}`;
      const request = { operation: "GET /load_balancers/{id}", method: "GET", path } as const;
      const expects = ["load_balancer"];
      return (await api.call<{ readonly load_balancer: ApiLoadBalancer }>({ ...request, expects }, call))
        .load_balancer;
    },
    certificates: (call: Call) => pages<ApiCertificate>("certificates", call),
    regions: (call: Call) => pages<{ readonly slug: string }>("regions", call),
  };
}

export type DigitalOceanApi = ReturnType<typeof digitalOceanApi>;

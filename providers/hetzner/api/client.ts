// The Hetzner Cloud API: its account, rate limit and paging, and one function per kind of request.

import {
  type Call,
  type Context,
  type JsonRequest,
  jsonApi,
  type Page,
  pagesByNumber,
  type QueryValue,
  rateLimitHeaders,
  type Secret,
} from "#ccm";
import { isApiError, readError } from "./errors.ts";
import type { ApiAction, ApiCertificate, ApiLoadBalancer, ApiNetwork, ApiServer } from "./resources.ts";

/** The largest page that the API serves. */
const pageSize = 50;

interface Meta {
  readonly pagination: { readonly next_page: number | null; readonly total_entries: number | null };
}

type Query = Readonly<Record<string, QueryValue>>;

export interface ApiOptions {
  readonly endpoint: string;
  /** Called again when the cloud has rejected the token. */
  readonly readToken: () => Secret;
  readonly account: Context["account"];
}

/** The limit of 3,600 per hour refills by one per second; the reset time says when it is full. */
const rateLimit = rateLimitHeaders({
  limit: "ratelimit-limit",
  remaining: "ratelimit-remaining",
  full: { header: "ratelimit-reset", unit: "unix-seconds" },
});

export function hetznerApi({ endpoint, readToken, account }: ApiOptions) {
  const { transport } = account<Secret>({
    name: "hcloud",
    fetch: async () => ({ value: readToken() }),
    sign: (request, token) => ({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${token.reveal()}` },
    }),
    rateLimit,
  });
  const api = jsonApi({ base: endpoint, transport, isApiError, readError });

  const list = <T>(key: string, call: Call, query: Query = {}) => {
    const operation = `GET /${key}`;
    return pagesByNumber<T>({ operation }, async (page) => {
      const request: JsonRequest = {
        operation,
        method: "GET",
        path: `/${key}`,
        query: { per_page: pageSize, ...query, page },
      };
      const body = await api.call<Readonly<Record<string, unknown>> & { readonly meta?: Meta }>(
        request,
        call,
      );
      const { next_page, total_entries } = body.meta?.pagination ?? {};
      // `pagesByNumber` checks that it is an array.
      return { items: body[key] as Page<T>["items"], next: next_page, total: total_entries ?? undefined };
    });
  };

  const get = <K extends string, T>(key: K, path: string, call: Call) =>
    api.call<Readonly<Record<K, T>>>(
      { operation: `GET /${key}s/{id}`, method: "GET", path, expects: [key] },
      call,
    );

  return {
    servers: (call: Call, query?: Query) => list<ApiServer>("servers", call, query),
    server: async (id: string, call: Call) =>
      (await get<"server", ApiServer>("server", `/servers/${id}`, call)).server,
    networks: (call: Call, query?: Query) => list<ApiNetwork>("networks", call, query),
    network: async (id: number, call: Call) =>
      (await get<"network", ApiNetwork>("network", `/networks/${id}`, call)).network,
    loadBalancers: (call: Call) => list<ApiLoadBalancer>("load_balancers", call),
    certificates: (call: Call) => list<ApiCertificate>("certificates", call),
    actions: (ids: readonly string[], call: Call) => list<ApiAction>("actions", call, { id: ids }),
    /** Sends a change. Its response names the action that carries it out, if there is one. */
    change: (request: JsonRequest, call: Call) =>
      api.call<{ readonly action?: ApiAction | null } | undefined>(request, call),
  };
}

export type HetznerApi = ReturnType<typeof hetznerApi>;

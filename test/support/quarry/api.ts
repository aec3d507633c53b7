// The API of Quarry: the types of its responses, and one client per region.

import { type Context, type JsonApi, jsonApi, rateLimitHeaders, type Values } from "#ccm";
import type { config } from "./settings.ts";

export interface ApiMachine {
  readonly id: string;
  readonly name: string;
  readonly ip: string;
}

/** The fields that `POST /pools` sets and `PUT /pools/{id}` replaces. */
export interface PoolSpec {
  readonly rules: readonly string[];
  readonly members: readonly { readonly machine: string; readonly node: string }[];
  /** Null for all clients. */
  readonly ranges: readonly string[] | null;
}

/** A pool in the listing, which omits the fields of `PoolSpec`. */
export interface ListedPool {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ApiPool extends ListedPool, PoolSpec {
  readonly state: "ready" | "busy" | "broken";
  readonly front: { readonly id: string; readonly address: string } | null;
  /** Members that the cloud does not accept. */
  readonly rejected: readonly { readonly node: string; readonly why: string }[];
}

export interface ApiJob {
  readonly id: string;
  readonly state: "running" | "done" | "failed";
  readonly fault?: string;
}

export interface Created {
  readonly id: string;
  readonly job: string;
}

export interface ApiRoute {
  readonly to: string;
  readonly machine: string;
  readonly note: string;
}

type RegionSettings = Values<typeof config>["regions"][number];

export interface Region extends RegionSettings {
  readonly api: JsonApi;
}

export function openRegion(
  settings: RegionSettings,
  { token }: Pick<Values<typeof config>, "token">,
  { account }: Context,
): Region {
  const { transport } = account({
    name: settings.name,
    fetch: async () => ({ value: token }),
    sign: (request, key) => ({ ...request, headers: { ...request.headers, "x-key": key.reveal() } }),
    rateLimit: rateLimitHeaders({
      remaining: "x-quota-left",
      retryAfter: { header: "x-quota-wait-ms", unit: "milliseconds" },
    }),
  });
  const api = jsonApi({
    base: settings.endpoint,
    transport,
    readError: (body, status) => {
      const { fault } = (body ?? {}) as { readonly fault?: string };
      return fault === undefined ? undefined : { message: fault, kind: status === 409 ? "busy" : undefined };
    },
  });
  return { ...settings, api };
}

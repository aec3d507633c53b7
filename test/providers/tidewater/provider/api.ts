// The API of one zone of Tidewater: the types of its responses, its budget, its errors and its requests.

import {
  type Call,
  type CloudErrorKind,
  type Context,
  type JsonRequest,
  jsonApi,
  pagesByCursor,
  rateLimitHeaders,
  type Secret,
} from "#ccm";
import type { Zone } from "./settings.ts";

type Fault = Readonly<{ code: string; text: string }>;

export interface ApiMachine extends Readonly<Record<"id" | "label" | "shape" | "address", string>> {
  readonly power: "up" | "down" | "leaving";
}

export type PoolSpec = Readonly<{ protocol: "tcp" | "udp"; port: number; machine_port: number }>;
export type ApiPool = PoolSpec & Readonly<{ id: string; members: readonly string[] }>;

export interface ApiFrontend extends Readonly<Record<"id" | "label" | "stamp", string>> {
  readonly tags: Readonly<Record<string, string>>;
  readonly class: "compact" | "wide";
  readonly allow: readonly string[] | null;
  readonly address: string | null;
  readonly condition: "building" | "changing" | "bare" | "serving" | "broken";
  /** Not part of a listing. */
  readonly pools?: readonly ApiPool[];
}

export interface ApiTicket {
  readonly ticket: string;
  readonly phase: "running" | "settled" | "failed";
  readonly rejected: readonly (Fault & { readonly address: string })[];
  readonly fault: Fault | null;
}

export type ApiEntry = Readonly<{ to: string; hop: string; note: string }>;
export type ApiTable = Readonly<{ stamp: string; entries: readonly ApiEntry[] }>;

type Query = Readonly<Record<string, readonly string[]>>;
type ApiListing<T> = Readonly<{ entries?: readonly T[]; total?: number; next?: string | null }>;

/** Where the status is misleading. */
const kinds: Readonly<Record<string, CloudErrorKind>> = {
  units_spent: "rate-limited",
  busy: "busy",
  label_taken: "invalid",
  no_such_entry: "conflict",
  repeated_entry: "conflict",
  table_full: "quota",
};

export const kindOf = (code: string): CloudErrorKind | undefined => kinds[code];

const listings = ["GET /machines", "GET /frontends"];

export function zoneApi(zone: Zone, key: Secret, { account }: Context) {
  const { transport } = account({
    name: zone,
    fetch: async () => ({ value: key }),
    sign: (request, value) => ({
      ...request,
      headers: { ...request.headers, "tidewater-key": value.reveal() },
    }),
    rateLimit: rateLimitHeaders({
      limit: "tidewater-units-max",
      remaining: "tidewater-units-left",
      full: { header: "tidewater-units-full-ms", unit: "milliseconds" },
      retryAfter: { header: "tidewater-pause-ms", unit: "milliseconds" },
    }),
    costOf: ({ mutates, operation }) => (mutates ? 10 : listings.includes(operation) ? 4 : 1),
  });
  const api = jsonApi({
    base: `https://${zone}.tidewater.example/v3`,
    transport,
    isApiError: (body) => typeof body === "object" && body !== null && "fault" in body,
    readError: (body) => {
      const { code, text } = (body as { readonly fault: Fault }).fault;
      const scope = code === "units_spent" ? "account" : "operation";
      return { message: `${code}: ${text}`, kind: kindOf(code), scope };
    },
  });
  /** All entries, or those with the ids or labels in `query`. */
  const list = <T>(collection: string, call: Call, query: Query = {}) => {
    const operation = `GET /${[collection, ...Object.keys(query)].join("?")}`;
    return pagesByCursor<T>({ operation }, async (next) => {
      const place = next === undefined ? { path: `/${collection}`, query } : { path: next };
      const body = await api.call<ApiListing<T>>({ operation, method: "GET", ...place }, call);
      return { items: body.entries, total: body.total, next: body.next };
    });
  };
  const get = <T>(path: string, expects: readonly string[], call: Call, query: JsonRequest["query"] = {}) =>
    api.call<T>({ operation: `GET ${path}`, method: "GET", path, query, expects }, call);
  return {
    zone,
    machines: (call: Call, query?: Query) => list<ApiMachine>("machines", call, query),
    frontends: (call: Call) => list<ApiFrontend>("frontends", call),
    findFrontend: async (label: string, call: Call): Promise<ApiFrontend | undefined> => {
      for await (const [frontend] of list<ApiFrontend>("frontends", call, { label: [label] }))
        return frontend;
      return undefined;
    },
    tickets: async (is: readonly string[], call: Call) =>
      (await get<{ readonly tickets: readonly ApiTicket[] }>("/tickets", ["tickets"], call, { is })).tickets,
    table: (call: Call) => get<ApiTable>("/table", ["stamp", "entries"], call),
    /** Returns the ticket of the change. */
    change: async (request: JsonRequest, call: Call) =>
      (await api.call<{ readonly ticket: string }>({ ...request, expects: ["ticket"] }, call)).ticket,
  };
}

export type ZoneApi = ReturnType<typeof zoneApi>;
export type ZoneApis = Readonly<Record<Zone, ZoneApi>>;

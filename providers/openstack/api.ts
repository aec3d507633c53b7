// The service APIs. Each has a separate account, so an outage of one service does not affect the others; the meaning of their
// errors; and paged listings.

import {
  type Call,
  type CloudErrorKind,
  type Context,
  type ErrorReport,
  type JsonApi,
  type JsonRequest,
  jsonApi,
  pagesByCursor,
  type Query,
} from "#ccm";
import { cloudInUse, endpointOf, fetchSession, type Session } from "./keystone.ts";
import type { Settings } from "./settings.ts";

/**
 * The versions of the APIs: Nova lists servers of a cell that is down since 2.69 (Stein), and Cinder expands attached volumes
 * since 3.42 (Pike).
 */
const versions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  compute: { "x-openstack-nova-api-version": "2.69" },
  "block-storage": { "openstack-api-version": "volume 3.42" },
};

interface Fault {
  readonly message?: unknown;
  readonly faultstring?: unknown;
  readonly description?: unknown;
  readonly type?: unknown;
}

const textIn = (fault: Fault | null | undefined): unknown =>
  fault?.faultstring ?? fault?.message ?? fault?.description;

/**
 * Octavia returns a fault, or a description if the pool of a member is missing; the other services return a single member that
 * contains the fault.
 */
function faultIn(body: unknown): Fault | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const all = [body, ...Object.values(body)] as readonly (Fault | null)[];
  return all.find((one) => typeof textIn(one) === "string") ?? undefined;
}

const full = /quota|IpAddressGenerationFailure|maximum allowed number of disk devices/i;

function kindOf(status: number, type: unknown, message: string): CloudErrorKind | undefined {
  if (full.test(`${String(type ?? "")} ${message}`)) return "quota";
  if (status === 413) return "rate-limited";
  // Another client has changed the object since it was read.
  if (status === 412) return "busy";
  return status === 409 && /immutable/i.test(message) ? "busy" : undefined;
}

function readError(body: unknown, status: number): ErrorReport | undefined {
  const fault = faultIn(body);
  if (fault === undefined) return undefined;
  const [text, type] = [String(textIn(fault)), fault.type];
  return {
    message: typeof type === "string" && type !== "" ? `${text} [${type}]` : text,
    kind: kindOf(status, type, text),
  };
}

/** The catalog may have a URL with or without a version; the paths of requests to Neutron and Octavia contain the version. */
function baseOf(url: string, type: string): string {
  if (type === "block-storage") return /\/v3(\/|$)/.test(url) ? url : `${url}/v3`;
  return type === "compute" ? url : url.replace(/\/v2(\.0)?$/, "");
}

/** The start of the next page, from its link. Behind a proxy, its host may differ. */
function nextMarker(body: object, collection: string): string | undefined {
  const links = (body as Readonly<Record<string, unknown>>)[`${collection}_links`] as
    | readonly { readonly rel: string; readonly href: string }[]
    | undefined;
  const next = links?.find(({ rel }) => rel === "next");
  return next === undefined
    ? undefined
    : (new URL(next.href, "http://next").searchParams.get("marker") ?? undefined);
}

const pageSize = 1000;

/** A request to a path with ids, which are not part of its operation's name. */
export function requestOf(
  method: JsonRequest["method"],
  path: string,
  body?: object,
  query?: JsonRequest["query"],
): JsonRequest {
  const operation = `${method} ${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")}`;
  // A body contains its resource under the name of the resource. Octavia responds to a batch of members and to a deletion
  // without a body.
  const [named] = Object.keys(body ?? {}).filter((name) => name !== "members");
  const expects = method === "GET" ? undefined : named === undefined ? [] : [named];
  return { operation, method, path, body, query, expects };
}

/** The request changes nothing if another client has changed the object since this revision. */
export const atRevision = (request: JsonRequest, revision: number | undefined): JsonRequest =>
  revision === undefined ? request : { ...request, headers: { "if-match": `revision_number=${revision}` } };

type OpenContext = Pick<Context, "account" | "inputs">;

/** A service: requests, and listings of its collections. */
export class ServiceApi {
  readonly #api: (call: Call) => Promise<JsonApi>;
  readonly #session: (call: Call) => Promise<Session>;
  /** The URL of the service according to the catalog. */
  readonly #urlIn: (session: Session) => string;

  constructor(type: string, settings: Settings, { account, inputs }: OpenContext, scope?: string) {
    this.#urlIn = (session) => endpointOf(session, type, scope);
    const opened = account<Session>({
      name: scope === undefined ? type : `${type} of ${scope}`,
      fetch: (plain, call) => fetchSession(settings, inputs, plain, call),
      credentialPlace: cloudInUse(settings),
      sign: (request, { token, tls }) => ({
        ...request,
        headers: { ...versions[type], ...request.headers, "x-auth-token": token },
        ...(tls && { tls }),
      }),
    });
    this.#session = opened.credential;
    this.#api = async (call) => {
      const base = baseOf(this.#urlIn(await opened.credential(call)), type);
      return jsonApi({ base, transport: opened.transport, readError });
    };
  }

  /** The project that the credentials belong to. */
  async projectID(call: Call): Promise<string | undefined> {
    return (await this.#session(call)).projectID;
  }

  /** The URL of the service and the project: two accounts with equal ones see the same objects. */
  async place(call: Call): Promise<string> {
    const session = await this.#session(call);
    return `${session.projectID} ${this.#urlIn(session)}`;
  }

  async call<T>(request: JsonRequest, call: Call): Promise<T> {
    return (await this.#api(call)).call<T>(request, call);
  }

  /** `member`: the name of the object in the response; a path such as `/servers/{id}` gets the id. */
  async read<T>(path: string, id: string, member: string, call: Call): Promise<T> {
    const request = {
      operation: `GET ${path}`,
      method: "GET",
      path: path.replace("{id}", encodeURIComponent(id)),
    } as const;
    const body = await this.call<Readonly<Record<string, T>>>({ ...request, expects: [member] }, call);
    return body[member] as T;
  }

  /** Lists like `list`, without the objects of other projects, which an administrator gets. */
  async *listOwn<T>(
    path: string,
    call: Call,
    query: Query = {},
  ): AsyncGenerator<readonly T[], void, undefined> {
    yield* this.list<T>(path, call, { ...query, project_id: await this.projectID(call) });
  }

  /** All pages of a collection. The entries are in a member with the name of the collection. */
  list<T>(path: string, call: Call, query: Query = {}): AsyncGenerator<readonly T[], void, undefined> {
    const member = /([\w-]+)(\/detail)?$/.exec(path)?.[1]?.replaceAll("-", "_") ?? path;
    return pagesByCursor<T>({ operation: requestOf("GET", path).operation }, async (marker) => {
      const request = { ...requestOf("GET", path), query: { limit: pageSize, ...query, marker } };
      const body = await this.call<Readonly<Record<string, readonly T[]>>>(
        { ...request, expects: [member] },
        call,
      );
      return { items: body[member] ?? [], next: nextMarker(body, member) };
    });
  }
}

/** The services with servers and their ports. */
export interface ServersApi {
  readonly compute: ServiceApi;
  readonly network: ServiceApi;
}

/** The OpenStack services that Fairlead uses. */
export interface OpenStackApi extends ServersApi {
  readonly balancing: ServiceApi;
  readonly storage: ServiceApi;
}

export function serversApi(settings: Settings, context: OpenContext, scope?: string): ServersApi {
  const open = (type: string) => new ServiceApi(type, settings, context, scope);
  return { compute: open("compute"), network: open("network") };
}

export function openStackApi(servers: ServersApi, settings: Settings, context: OpenContext): OpenStackApi {
  const open = (type: string) => new ServiceApi(type, settings, context);
  return { ...servers, balancing: open("load-balancer"), storage: open("block-storage") };
}

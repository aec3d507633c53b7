// The Cattle API: its account, its schema, and the requests in use. All URLs except the first come from the server.

import {
  basic,
  type Call,
  CloudError,
  type Context,
  collect,
  currentValue,
  type Inputs,
  ifFound,
  jsonApi,
  pagesByCursor,
  type Query,
  resolveOnce,
  type Secret,
  type TlsMaterial,
} from "#ccm";
import { type Resource, readError } from "./resources.ts";
import type { Settings } from "./settings.ts";

/** The server writes links with the host name that it knows. Requests stay at the configured host. */
function pathOf(link: string, operation: string): string {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url !== undefined) return url.pathname + url.search;
  const text = `${operation}: the server sent ${JSON.stringify(link.slice(0, 80))} as a link, expected a URL.`;
  throw new CloudError("unavailable", text, { operation });
}

/** The documented maximum. The server's default is 100. */
const pageSize = 1000;

export type ResourceType =
  | "certificate"
  | "externalService"
  | "host"
  | "loadBalancerService"
  | "project"
  | "service"
  | "setting"
  | "stack";

interface Schemas {
  readonly data?: readonly {
    readonly id: string;
    readonly links?: Readonly<Record<string, string>> | null;
  }[];
}

interface Root {
  readonly links?: Readonly<Record<string, string>>;
}

interface Project extends Root {
  readonly id: string;
  readonly name?: string | null;
}

interface Collection<T> {
  readonly data?: readonly T[];
  readonly pagination?: { readonly next?: string | null; readonly partial?: boolean | null } | null;
}

/** As in the Go manager's client, a URL without a path or with the path of version 1 means v2-beta. */
function apiURL({ url, "project-id": projectID }: Settings): URL {
  const { origin, pathname } = new URL(url);
  const path = pathname
    .replace(/\/+$/, "")
    .replace(/^$/, "/v2-beta")
    .replace(/^\/v1(?=\/|$)/, "/v2-beta");
  const isProject = projectID === undefined || path.includes("/projects/");
  return new URL(isProject ? path : `${path}/projects/${projectID}`, origin);
}

function tlsOf(
  { "ca-file": path, "insecure-skip-verify": skipVerification }: Settings,
  inputs: Inputs,
): TlsMaterial | undefined {
  const ca = path === undefined ? undefined : inputs.file(path)?.reveal().trim();
  return ca === undefined && !skipVerification ? undefined : { ...(ca && { ca }), skipVerification };
}

export function rancherApi(settings: Settings, { account, inputs }: Context) {
  const [base, tls] = [apiURL(settings), tlsOf(settings, inputs)];
  const { transport, messages } = account<{ readonly user: string; readonly password: Secret }>({
    name: "rancher",
    // Read again when the cloud has rejected the keys.
    fetch: async () => {
      const user = currentValue(settings, "access-key", inputs).reveal();
      return { value: { user, password: currentValue(settings, "secret-key", inputs) } };
    },
    sign: (request, keys) => ({ ...basic(request, keys), ...(tls && { tls }) }),
  });
  const api = jsonApi({ base: base.origin, transport, readError });

  const read = <T>(operation: string, link: string, call: Call, query?: Query) =>
    api.call<T>({ operation, method: "GET", path: pathOf(link, operation), query }, call);

  const listAt = <T>(operation: string, link: string, call: Call, query: Query = {}) =>
    pagesByCursor<T>({ operation }, async (next) => {
      const page = await (next === undefined
        ? read<Collection<T>>(operation, link, call, { limit: pageSize, ...query })
        : read<Collection<T>>(operation, next, call));
      const { next: following, partial } = page.pagination ?? {};
      const text = `${operation} returned a part of the entries without a next page.`;
      if (partial === true && !following) throw new CloudError("unavailable", text, { operation });
      return { items: page.data, next: following ?? undefined };
    });

  /** Sends a change to a link or an action of an object. Every response of this API has a `type`. */
  const send = <T>(
    method: "PUT" | "POST" | "DELETE",
    operation: string,
    link: string,
    call: Call,
    body?: object,
  ) => api.call<T>({ operation, method, path: pathOf(link, operation), body, expects: ["type"] }, call);

  /**
   * The schemas of the environment. The header X-API-Schemas cannot be used: it names the account's schemas even at an environment
   * URL, and an account's collections are empty.
   */
  const environmentSchemas = async (call: Call): Promise<string> => {
    const { links = {} } = await read<Root>("GET /", base.href, call);
    const { schemas: own, projects } = links;
    const other = `${base.href} is not the API of Rancher 1.6: it names no schemas. Nothing is changed. Correct CATTLE_URL.`;
    if (own === undefined) throw new CloudError("unavailable", other, { operation: "GET /" });
    if (projects === undefined || base.pathname.includes("/projects/")) return own;
    const operation = "GET /projects";
    const found = await collect(listAt<Project>(operation, projects, call));
    const [only, ...others] = found;
    if (only !== undefined && others.length === 0) return only.links?.["schemas"] ?? own;
    const names = found.slice(0, 5).map(({ id, name }) => `${id} (${name ?? "no name"})`);
    const text =
      only === undefined
        ? "The API key can read no environment. Nothing is changed. Use an API key of the environment."
        : `The API key can read ${found.length} environments: ${names.join(", ")}. Nothing is changed. Set project-id, or add /projects/<id> to CATTLE_URL.`;
    throw new CloudError("invalid", text, { operation });
  };

  /** Resolved only once: another environment, without these objects, must never replace the first. */
  const schemasLink = resolveOnce(environmentSchemas);
  /** The links of the collections that the key can use, by type. */
  const readCollections = async (call: Call): Promise<ReadonlyMap<string, string>> => {
    const operation = "GET /schemas";
    const { data = [] } = await read<Schemas>(operation, await schemasLink(call), call);
    const all = new Map(
      data.flatMap(({ id, links }) => {
        const link = links?.["collection"];
        return link === undefined ? [] : [[id, link] as const];
      }),
    );
    if (all.has("host")) return all;
    const text = `The schema of ${base.href} has no hosts: it is not the API of Rancher 1.6, or the key is of another kind. Correct CATTLE_URL, or use a key of the environment.`;
    throw new CloudError("unavailable", text, { operation });
  };
  let collections = resolveOnce(readCollections);
  const collection = async (type: ResourceType, call: Call): Promise<string> => {
    const link = (await collections(call)).get(type);
    if (link !== undefined) return link;
    // The permissions of the key may have changed, so the next call reads the schemas again.
    collections = resolveOnce(readCollections);
    const text = `The API at ${base.href} does not offer ${type} to this key. Use an API key of the environment.`;
    throw new CloudError("forbidden", text, { operation: `GET /${type}` });
  };

  return {
    /**
     * The messages of the event socket: pings, and objects that have changed. Opening the socket yields no message:
     * a proxy may open it and pass nothing on, so only the first ping shows that the server publishes.
     */
    events: async function* (call: Call) {
      const hosts = await collection("host", call);
      const link = (await collections(call)).get("subscribe") ?? hosts.replace(/[^/]*$/, "subscribe");
      const operation = "GET /subscribe";
      const url = `${base.origin}${pathOf(link, operation)}?eventNames=resource.change`;
      const request = { operation, method: "GET", url, mutates: false } as const;
      for await (const message of messages(request, call)) if (message !== "") yield message;
    },
    /** All entries that are not removed. The server ignores unknown filters, so the results must be checked. */
    list: async function* <T>(type: ResourceType, call: Call, query: Query = {}) {
      const link = await collection(type, call);
      const pages = listAt<T>(`GET /${type}`, link, call, { removed_null: 1, ...query });
      for await (const page of pages) yield page.filter((one) => !(one as Pick<Resource, "removed">).removed);
    },
    /**
     * Undefined if the object does not exist. The filter `id` is not a replacement, because it compares only with the
     * number in the id.
     */
    find: async <T>(
      type: ResourceType,
      id: string,
      call: Call,
      query: Query = {},
    ): Promise<T | undefined> => {
      const link = `${await collection(type, call)}/${encodeURIComponent(id)}`;
      return ifFound(read<T>(`GET /${type}/{id}`, link, call, query));
    },
    listAt,
    read,
    create: async <T>(type: ResourceType, body: object, call: Call) =>
      send<T>("POST", `POST /${type}`, await collection(type, call), call, body),
    send,
  };
}

export type RancherApi = ReturnType<typeof rancherApi>;

// The API's requests: collections, objects, links and actions.

import type { Answer } from "#ccm/testing";
import { Refusal } from "../refusal.ts";
import type { Environment, Named } from "../state/environment.ts";
import { checkRequired, nameOf, newService, objectOf, textOrNull } from "./bodies.ts";
import { pageOf } from "./listing.ts";
import { linkedServices, serveHost, serveService } from "./object-requests.ts";
import {
  type CollectionType,
  canCreate,
  filterableFields,
  includesOf,
  pluralOf,
  requiredFields,
  schemasOf,
  typeOf,
} from "./schemas.ts";
import {
  type ServiceContext,
  type View,
  viewOfAddress,
  viewOfHost,
  viewOfNamed,
  viewOfService,
  viewOfSetting,
} from "./views.ts";

export interface ApiRequest extends ServiceContext {
  readonly method: string;
  readonly url: URL;
  readonly project: string | undefined;
  readonly operation: string;
  readonly collection: string;
  readonly id: string | undefined;
  readonly link: string | undefined;
  readonly action: string | null;
  readonly body: unknown;
  readonly maxLimit: number;
  readonly ignoresFilters: boolean;
  readonly ignoresInclude: boolean;
  /** Whether the key belongs to an account, and the URL names no environment. */
  readonly isAccount: boolean;
}

/** Data that an account has only within an environment. */
const ofEnvironment: ReadonlySet<CollectionType> = new Set([
  "certificate",
  "externalService",
  "host",
  "ipAddress",
  "loadBalancerService",
  "service",
  "stack",
] as const);

const notFound = (what: string) => new Refusal("NotFound", `${what} not found`);

function addressesOf(id: string, environment: Environment, base: string): readonly View[] {
  const host = environment.hosts.list().find((one) => one.id === id);
  return host?.ips.map((ip, index) => viewOfAddress(host, ip, index, base)) ?? [];
}

/** All objects of a type that the key can read. */
export function viewsOf(type: CollectionType, request: ApiRequest): readonly View[] {
  const { base, environment } = request;
  const named = { stack: environment.stacks, certificate: environment.certificates };
  if (request.isAccount && ofEnvironment.has(type)) return [];
  switch (type) {
    case "project":
      return environment.projects.map((project) => viewOfProject(project, request));
    case "host":
      return environment.hosts.list().map((host) => viewOfHost(host, base));
    case "ipAddress":
      return environment.hosts.list().flatMap(({ id }) => addressesOf(id, environment, base));
    case "setting":
      return [...environment.settings].map(([name, value]) => viewOfSetting(name, value, base));
    case "schema":
      return schemasOf(base).data;
    case "loadBalancerService":
    case "externalService":
    case "service":
      return environment.services
        .list()
        .filter((service) => type === "service" || service.type === type)
        .map((service) => viewOfService(service, request));
    default:
      return named[type].map((one) => viewOfNamed(one, type, base));
  }
}

function list(type: CollectionType, views: readonly View[], request: ApiRequest): Answer {
  const { base, environment, ignoresInclude, url, maxLimit, ignoresFilters } = request;
  const links = ignoresInclude ? [] : includesOf(type);
  const entriesOf = (view: View) => addressesOf(view.id, environment, base);
  const body = pageOf(views, {
    resourceType: type,
    url,
    maxLimit,
    ignoresFilters,
    fields: filterableFields(type),
    includes: Object.fromEntries(links.map((link) => [link, entriesOf])),
    createTypes: canCreate(type) ? { [type]: `${base}/${pluralOf(type)}` } : {},
  });
  return { status: 200, body };
}

function create(type: CollectionType, request: ApiRequest): Answer {
  const { base, environment, action } = request;
  if (action !== null) throw new Refusal("InvalidAction", `There is no action ${action}`, "action");
  const body = objectOf(request.body);
  if (type === "loadBalancerService" || type === "externalService") {
    const service = environment.services.create(type, newService(type, body, environment));
    return { status: 201, body: viewOfService(service, request) };
  }
  if (type !== "stack") throw new Refusal("MethodNotAllowed", "Method not allowed");
  const name = nameOf(body);
  checkRequired(body, requiredFields(type));
  const stack = environment.addStack(name, textOrNull(body["externalId"]));
  return { status: 201, body: viewOfNamed(stack, type, base) };
}

function linksOf(base: string): Readonly<Record<string, string>> {
  const { data } = schemasOf(base);
  const collections = data.flatMap(({ pluralName, links }) =>
    "collection" in links ? [[pluralName, links.collection]] : [],
  );
  return { self: base, schemas: `${base}/schemas`, ...Object.fromEntries(collections) };
}

function viewOfProject(project: Named, { url }: ApiRequest): View {
  const base = `${url.origin}/v2-beta`;
  return { ...viewOfNamed(project, "project", base), links: linksOf(`${base}/projects/${project.id}`) };
}

/** The API itself, or an environment. */
function root(request: ApiRequest): Answer {
  const found = request.environment.projects.find(({ id }) => id === request.project);
  const body =
    found === undefined
      ? { type: "apiVersion", id: "v2-beta", links: linksOf(request.base), actions: {} }
      : viewOfProject(found, request);
  return { status: 200, body };
}

function linked(type: CollectionType, id: string, link: string, request: ApiRequest): Answer {
  const { base, environment } = request;
  const service = environment.services.get(id);
  if (type === "host" && link.toLowerCase() === "ipaddresses")
    return list("ipAddress", addressesOf(id, environment, base), request);
  const views =
    service === undefined || (type !== "service" && service.type !== type)
      ? undefined
      : linkedServices(service, link, request);
  if (views === undefined) throw notFound(`${type} ${id} with ${link}`);
  return list("service", views, request);
}

function serveRequest(request: ApiRequest): Answer {
  const { method, base, environment, collection, id, link, project } = request;
  if (project !== undefined && !environment.projects.some((one) => one.id === project))
    throw notFound(`project ${project}`);
  if (collection === "") return root(request);
  const type = typeOf(collection);
  if (type === undefined) throw notFound(collection);
  if (id === undefined) {
    if (method === "POST") return create(type, request);
    if (method !== "GET") throw new Refusal("MethodNotAllowed", "Method not allowed");
    return type === "schema"
      ? { status: 200, body: schemasOf(base) }
      : list(type, viewsOf(type, request), request);
  }
  if (link !== undefined) return linked(type, id, link, request);
  const service = environment.services.get(id);
  if (service !== undefined && (type === "service" || service.type === type))
    return serveService(service, request);
  const host = type === "host" ? environment.hosts.list().find((one) => one.id === id) : undefined;
  if (host !== undefined) return serveHost(host, request, environment);
  const view = viewsOf(type, request).find((one) => one.id === id);
  if (view === undefined) throw notFound(`${type} ${id}`);
  if (method !== "GET") throw new Refusal("MethodNotAllowed", "Method not allowed");
  return { status: 200, body: view };
}

/** Serves a request. Each response names the schemas of the account, even at an environment URL. */
export function serve(request: ApiRequest): Answer {
  const schemas = `${request.url.origin}/v2-beta/schemas`;
  return { ...serveRequest(request), headers: { "x-api-schemas": schemas } };
}

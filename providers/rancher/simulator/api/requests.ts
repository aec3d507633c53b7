// The requests of the API: collections, objects, links and actions.

import { Refusal } from "../refusal.ts";
import type { Environment } from "../state/environment.ts";
import type { Service } from "../state/service.ts";
import { pageOf } from "./listing.ts";
import { type CollectionType, pluralOf, schemasOf, typeOf } from "./schemas.ts";
import { changedFields, newService } from "./service-bodies.ts";
import { actionsOf, type View, viewOfAddress, viewOfHost, viewOfNamed, viewOfService } from "./views.ts";

export interface Served {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  /** URL of the API, with the project if the request has one. */
  readonly base: string;
  readonly operation: string;
  readonly collection: string;
  readonly id: string | undefined;
  readonly link: string | undefined;
  readonly action: string | null;
  readonly body: unknown;
  readonly maxLimit: number;
  readonly ignoresFilters: boolean;
  readonly ignoresInclude: boolean;
  readonly isActivateWithheld: boolean;
}

const notFound = (what: string) => new Refusal("NotFound", `${what} not found`);

function viewsOf(type: CollectionType, request: ApiRequest, environment: Environment): readonly View[] {
  const { base, isActivateWithheld } = request;
  const named = {
    stack: environment.stacks,
    certificate: environment.certificates,
    project: environment.projects,
  };
  switch (type) {
    case "host":
      return environment.hosts.list().map((host) => viewOfHost(host, base));
    case "setting":
      return [...environment.settings].map(([name, value]) => ({ id: name, type: "setting", name, value }));
    case "schema":
      return schemasOf(base).data;
    case "loadBalancerService":
    case "externalService":
      return environment.services
        .list()
        .filter((service) => service.type === type)
        .map((service) => viewOfService(service, base, { environment, isActivateWithheld }));
    default:
      return named[type].map((one) => viewOfNamed(one, pluralOf(type), base));
  }
}

function addressesOf(id: string, environment: Environment): readonly View[] {
  const host = environment.hosts.list().find((one) => one.id === id);
  return host?.ips.map((ip, index) => viewOfAddress(host, ip, index)) ?? [];
}

function list(type: CollectionType, request: ApiRequest, environment: Environment): Served {
  if (type === "schema") return { status: 200, body: schemasOf(request.base) };
  const views = viewsOf(type, request, environment);
  const { maxLimit, ignoresFilters, ignoresInclude, url } = request;
  const canInclude = type === "host" && !ignoresInclude;
  const rows = canInclude ? (view: View) => addressesOf(view.id, environment) : undefined;
  const body = pageOf(type, views, url, { maxLimit, ignoresFilters, ...(rows && { rows }) });
  return { status: 200, body };
}

/** The services at the other end of the port rules. */
function linked(service: Service, link: string, environment: Environment): readonly Service[] {
  const all = environment.services.list().filter(({ removed }) => removed === null);
  const uses = (one: Service, other: Service) =>
    one.lbConfig?.portRules.some(({ serviceId }) => serviceId === other.id) === true;
  if (link === "consumedservices") return all.filter((one) => uses(service, one));
  if (link === "consumedbyservices") return all.filter((one) => uses(one, service));
  throw notFound(link);
}

function serveService(service: Service, request: ApiRequest, environment: Environment): Served {
  const { method, link, action, base, isActivateWithheld } = request;
  const { services } = environment;
  const show = (one: Service) => viewOfService(one, base, { environment, isActivateWithheld });
  if (link !== undefined) {
    const data = linked(service, link, environment).map(show);
    return { status: 200, body: { type: "collection", resourceType: "service", data, pagination: null } };
  }
  if (method === "GET") return { status: 200, body: show(service) };
  const wanted = method === "PUT" ? "update" : method === "DELETE" ? "remove" : (action ?? "");
  if (service.removed !== null) throw notFound(service.id);
  if (!actionsOf(service, isActivateWithheld).includes(wanted)) {
    if (method === "POST") throw new Refusal("ActionNotAvailable", `Action ${wanted} is not available`);
    throw new Refusal("InvalidState", `${service.id} is ${service.state}`);
  }
  switch (wanted) {
    case "update":
      return {
        status: 200,
        body: show(services.update(service, changedFields(request.body, environment, service))),
      };
    case "remove":
      return { status: 200, body: show(services.remove(service)) };
    case "activate":
      return { status: 202, body: show(services.activate(service)) };
    case "deactivate":
      return { status: 202, body: show(services.deactivate(service)) };
    default:
      return { status: 202, body: show(service) };
  }
}

function create(type: CollectionType, request: ApiRequest, environment: Environment): Served {
  const { base, body } = request;
  if (type === "stack") {
    const name = (body as { readonly name?: unknown } | undefined)?.name;
    if (typeof name !== "string") throw new Refusal("MissingRequired", "Name is required", "name");
    return { status: 201, body: viewOfNamed(environment.addStack(name), pluralOf(type), base) };
  }
  if (type !== "loadBalancerService" && type !== "externalService")
    throw new Refusal("MethodNotAllowed", "Method not allowed");
  const service = environment.services.create(type, newService(type, body, environment));
  return { status: 201, body: viewOfService(service, base, { environment, isActivateWithheld: false }) };
}

export function serve(request: ApiRequest, environment: Environment): Served {
  const { method, base, collection, id, link } = request;
  if (collection === "") {
    const headers = { "x-api-schemas": `${base}/schemas` };
    const links = { self: base, schemas: `${base}/schemas`, hosts: `${base}/hosts` };
    return { status: 200, body: { type: "apiVersion", id: "v2-beta", links }, headers };
  }
  const type = typeOf(collection);
  if (type === undefined) throw notFound(collection);
  if (id === undefined) {
    if (method === "POST") return create(type, request, environment);
    return list(type, request, environment);
  }
  const service = environment.services.get(id);
  if (service !== undefined && service.type === type) return serveService(service, request, environment);
  if (type === "host" && link === "ipAddresses") {
    const data = addressesOf(id, environment);
    return { status: 200, body: { type: "collection", resourceType: "ipAddress", data } };
  }
  const view = viewsOf(type, request, environment).find((one) => one.id === id);
  if (view === undefined) throw notFound(`${type} ${id}`);
  return { status: 200, body: view };
}

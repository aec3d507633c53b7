// Requests that list, create, change and delete networks.

import { invalid, notFound, Refusal } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import { isPrivate, rangeOf } from "../base/ipv4.ts";
import { choose, pageOf } from "../base/listing.ts";
import type { Network, Route, Subnet } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import { checkRoute, maxRoutes, readRoute, readSubnet } from "./network-rules.ts";
import { type ApiRequest, type Handlers, refuseLocked } from "./request.ts";

function networkView({ networks }: Project, network: Network): unknown {
  const { id, name, created, labels, subnets, routes } = network;
  return {
    ...{ id, name, created, labels, subnets, routes },
    ip_range: network.ipRange,
    servers: networks.members(id, "server"),
    load_balancers: networks.members(id, "load_balancer"),
    protection: { delete: network.isProtected },
    expose_routes_to_vswitch: network.exposesRoutes,
  };
}

function readNew(raw: unknown): Partial<Network> & { readonly name: string } {
  const body = new BodyReader(raw);
  const name = body.needText("name");
  const ipRange = body.needText("ip_range");
  const range = rangeOf(ipRange);
  if (range === undefined || !isPrivate(range) || range.last - range.first < 255)
    body.reject("ip_range", "must be a private IPv4 range of /24 or larger");
  const labels = body.labels() ?? {};
  const exposesRoutes = body.flag("expose_routes_to_vswitch") ?? false;
  const [subnets, routes]: [Subnet[], Route[]] = [[], []];
  for (const entry of range === undefined ? [] : body.objects("subnets")) {
    const subnet = readSubnet(entry, range ?? { first: 0, last: 0 }, { subnets, routes });
    if (subnet !== undefined) subnets.push(subnet);
  }
  for (const entry of range === undefined ? [] : body.objects("routes")) {
    const route = readRoute(entry);
    checkRoute(entry, route, range ?? { first: 0, last: 0 }, { subnets, routes });
    routes.push(route);
  }
  body.done();
  if (routes.length > maxRoutes) throw invalid("routes", `at most ${maxRoutes} routes`);
  return { name, ipRange, labels, exposesRoutes, subnets, routes };
}

function refuseUsedName({ networks }: Project, name: string, id?: number): void {
  if (networks.list().some((other) => other.name === name && other.id !== id))
    throw new Refusal("uniqueness_error", "network name is already used");
}

export function networkHandlers(project: Project): Handlers {
  const { networks, servers, balancers } = project;
  const shown = ({ id, isHidden }: ApiRequest) => {
    const network = networks.existing(id);
    if (isHidden(network)) throw notFound("network", id);
    return { status: 200, body: { network: networkView(project, network) } };
  };
  return {
    "GET /networks": (request) => {
      const visible = choose(networks.listed(), request.query).filter((each) => !request.isHidden(each));
      return pageOf("networks", visible, request, (network) => networkView(project, network));
    },
    "GET /networks/{id}": shown,
    "POST /networks": ({ body }) => {
      const { name, ...changes } = readNew(body);
      refuseUsedName(project, name);
      return { status: 201, body: { network: networkView(project, networks.add(name, changes)) } };
    },
    "PUT /networks/{id}": (request) => {
      const { id } = request;
      const before = networks.existing(id);
      const body = new BodyReader(request.body);
      const name = body.text("name") ?? before.name;
      const labels = body.labels() ?? before.labels;
      const exposesRoutes = body.flag("expose_routes_to_vswitch") ?? before.exposesRoutes;
      body.done();
      refuseUsedName(project, name, id);
      refuseLocked(project, { type: "network", id });
      networks.change(id, { name, labels, exposesRoutes });
      return shown(request);
    },
    "DELETE /networks/{id}": ({ id }) => {
      const { isProtected } = networks.existing(id);
      if (isProtected) throw new Refusal("protected", "network deletion is protected");
      refuseLocked(project, { type: "network", id });
      for (const server of networks.members(id, "server")) servers.detach(server, id);
      for (const balancer of networks.members(id, "load_balancer")) balancers.detach(balancer, id);
      networks.delete(id);
      return { status: 204 };
    },
  };
}

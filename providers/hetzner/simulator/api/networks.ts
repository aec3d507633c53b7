// Requests for networks: they are listed, created, changed and deleted, and their actions change subnets and routes.

import { notFound, Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import { contains, ipNumber, ipText, isPrivate, overlaps, type Range, rangeOf } from "../base/ipv4.ts";
import { locations } from "../state/catalog.ts";
import type { Network, Route, Subnet } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import { type Handlers, refuseLocked } from "./request.ts";
import { type ActionRules, resourceHandlers } from "./resource-handlers.ts";

const maxRoutes = 100;
/** The gateway of the public interface of servers. */
const publicGateway = "172.31.1.1";

const zones = [...new Set(locations.map(({ network_zone }) => network_zone))];

/** The first free /24. */
function freeRange(network: Range, taken: readonly Range[]): string | undefined {
  for (let first = network.first; first + 255 <= network.last; first += 256) {
    const range = { first, last: first + 255 };
    if (!taken.some((each) => overlaps(each, range))) return `${ipText(first)}/24`;
  }
  return undefined;
}

function readSubnet(
  body: BodyReader,
  network: Range,
  { subnets, routes }: { readonly subnets: readonly Subnet[]; readonly routes: readonly Route[] },
): Subnet | undefined {
  body.need("type");
  body.need("network_zone");
  const type = body.oneOf("type", ["cloud", "server"] as const);
  const network_zone = body.oneOf("network_zone", zones);
  const rangesOf = (texts: readonly string[]) => texts.map(rangeOf).filter((range) => range !== undefined);
  const subnetRanges = rangesOf(subnets.map(({ ip_range }) => ip_range));
  const destinations = routes.map(({ destination }) => destination).filter((each) => each !== "0.0.0.0/0");
  const taken = [...subnetRanges, ...rangesOf(destinations)];
  const ip_range = body.text("ip_range") ?? freeRange(network, taken) ?? "";
  const range = rangeOf(ip_range);
  if (range === undefined || range.last - range.first < 3) {
    body.reject("ip_range", "must be an IPv4 range of /30 or larger without host bits");
    return undefined;
  }
  if (!contains(network, range)) body.reject("ip_range", "must be inside the range of the network");
  if (taken.some((each) => overlaps(each, range)))
    body.reject("ip_range", "overlaps with another subnet or the destination of a route");
  if (type === undefined || network_zone === undefined) return undefined;
  const gateway = ipText(range.first + 1);
  return { type, ip_range, network_zone, gateway, vswitch_id: null };
}

function readRoute(body: BodyReader): Route {
  return { destination: body.needText("destination"), gateway: body.needText("gateway") };
}

function checkRoute(
  body: BodyReader,
  { destination, gateway }: Route,
  network: Range,
  { subnets, routes }: { readonly subnets: readonly Subnet[]; readonly routes: readonly Route[] },
): void {
  const range = rangeOf(destination);
  const hop = ipNumber(gateway);
  if (hop === undefined || !contains(network, { first: hop, last: hop }))
    body.reject("gateway", "must be an IP in the range of the network");
  else if (hop === network.first + 1 || gateway === publicGateway)
    body.reject("gateway", "must not be a gateway of the network");
  if (range === undefined) {
    body.reject("destination", "must be an IPv4 range without host bits");
    return;
  }
  const overlapping = (texts: readonly string[]) =>
    texts.map(rangeOf).some((other) => other !== undefined && overlaps(other, range));
  // The default route may exist next to others.
  if (destination === "0.0.0.0/0") {
    if (routes.some((route) => route.destination === destination))
      body.reject("destination", "overlaps with the destination of another route");
    return;
  }
  if (!isPrivate(range)) body.reject("destination", "must be a private range or 0.0.0.0/0");
  if (overlapping([`${publicGateway}/32`])) body.reject("destination", `overlaps with ${publicGateway}`);
  if (overlapping(subnets.map(({ ip_range }) => ip_range)))
    body.reject("destination", "overlaps with a subnet");
  const others = routes.map((route) => route.destination).filter((each) => each !== "0.0.0.0/0");
  if (overlapping(others)) body.reject("destination", "overlaps with the destination of another route");
}

function range({ ipRange }: Network): Range {
  return rangeOf(ipRange) ?? { first: 0, last: 0 };
}

/** While an action runs, changes of the network are a conflict. */
const networkActions: ActionRules<Network> = {
  add_route: (network, body) => {
    const route = readRoute(body);
    body.done();
    checkRoute(body, route, range(network), network);
    body.done();
    if (network.routes.length >= maxRoutes)
      throw new Refusal("resource_limit_exceeded", `a network can have at most ${maxRoutes} routes`);
    return { end: ({ routes }) => ({ routes: [...routes, route] }) };
  },
  delete_route: (network, body) => {
    const { destination, gateway } = readRoute(body);
    body.done();
    const rest = network.routes.filter(
      (route) => route.destination !== destination || route.gateway !== gateway,
    );
    if (rest.length === network.routes.length) throw notFound("route", `${destination} via ${gateway}`);
    return { end: () => ({ routes: rest }) };
  },
  add_subnet: (network, body) => {
    const subnet = readSubnet(body, range(network), network);
    body.done();
    if (subnet === undefined) throw new Refusal("invalid_input", "invalid subnet");
    return { end: ({ subnets }) => ({ subnets: [...subnets, subnet] }) };
  },
  change_protection: (network, body) => {
    const isProtected = body.flag("delete") ?? network.isProtected;
    body.done();
    return { end: () => ({ isProtected }) };
  },
};

function networkView({ networks }: Project, network: Network): unknown {
  const { id, name, created, labels, subnets, routes } = network;
  return {
    id,
    name,
    created,
    labels,
    subnets,
    routes,
    ip_range: network.ipRange,
    servers: networks.members(id, "server"),
    load_balancers: networks.members(id, "load_balancer"),
    protection: { delete: network.isProtected },
    expose_routes_to_vswitch: false,
  };
}

function readNew(body: BodyReader): Partial<Network> & { readonly name: string } {
  const name = body.needText("name");
  const ipRange = body.needText("ip_range");
  const range = rangeOf(ipRange);
  if (range === undefined || !isPrivate(range) || range.last - range.first < 255)
    body.reject("ip_range", "must be a private IPv4 range of /24 or larger");
  const labels = body.labels() ?? {};
  const subnets: Subnet[] = [];
  for (const entry of range === undefined ? [] : body.objects("subnets")) {
    const subnet = readSubnet(entry, range ?? { first: 0, last: 0 }, { subnets, routes: [] });
    if (subnet !== undefined) subnets.push(subnet);
  }
  body.done();
  return { name, ipRange, labels, subnets };
}

export function networkHandlers(project: Project): Handlers {
  const { networks, servers, balancers } = project;
  return resourceHandlers(project, "networks", networks, {
    view: (network) => networkView(project, network),
    change: ({ id }) => refuseLocked(project, { type: "network", id }),
    create: (body) => {
      const { name, ...changes } = readNew(body);
      networks.refuseUsedName(name);
      return networks.add(name, changes);
    },
    remove: ({ id }) => {
      for (const server of networks.members(id, "server")) servers.detach(server, id);
      for (const balancer of networks.members(id, "load_balancer")) balancers.detach(balancer, id);
      networks.remove(id);
      return { status: 204 };
    },
    actions: networkActions,
  });
}

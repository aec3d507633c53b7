// Requests that list, create, change and delete networks, and those for their members: servers and load balancers with an address.

import { invalid } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import { ipNumber, isPrivate, rangeOf } from "../base/ipv4.ts";
import { pageOf } from "../base/listing.ts";
import type { Network, Route, Subnet } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import { checkRoute, maxRoutes, networkActions, readRoute, readSubnet } from "./network-actions.ts";
import { type Handlers, refuseLocked } from "./request.ts";
import { resourceHandlers } from "./resource-handlers.ts";

function subnetWith({ subnets }: Network, ip: string): string | null {
  const number = ipNumber(ip) ?? -1;
  const found = subnets.find(({ ip_range }) => {
    const range = rangeOf(ip_range);
    return range !== undefined && range.first <= number && number <= range.last;
  });
  return found?.ip_range ?? null;
}

function membersOf({ networks, servers, balancers }: Project, network: Network): readonly unknown[] {
  const { id } = network;
  const view = (type: string, member: number, ip: string | undefined, aliases: readonly string[] = []) => ({
    ...{ type, id: member, ip: ip ?? null, status: ip === undefined ? "attaching" : "ok" },
    ...{ alias_ips: aliases, subnet: ip === undefined ? null : subnetWith(network, ip) },
  });
  return [
    ...networks.members(id, "server").map((member) => {
      const net = servers.get(member)?.privateNets.find((each) => each.network === id);
      return view("server", member, net?.ip, net?.aliasIps);
    }),
    ...networks.members(id, "load_balancer").map((member) => {
      const net = balancers.get(member)?.privateNets.find((each) => each.network === id);
      return view("load_balancer", member, net?.ip);
    }),
  ];
}

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

function readNew(body: BodyReader): Partial<Network> & { readonly name: string } {
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

export function networkHandlers(project: Project): Handlers {
  const { networks, servers, balancers } = project;
  return {
    ...resourceHandlers(project, "networks", networks, {
      view: (network) => networkView(project, network),
      change: ({ id, exposesRoutes }, body) => {
        refuseLocked(project, { type: "network", id });
        return { exposesRoutes: body.flag("expose_routes_to_vswitch") ?? exposesRoutes };
      },
      create: (body) => {
        const { name, ...changes } = readNew(body);
        networks.refuseUsedName(name);
        return networks.add(name, changes);
      },
      remove: ({ id }) => {
        for (const server of networks.members(id, "server")) servers.detach(server, id);
        for (const balancer of networks.members(id, "load_balancer")) balancers.detach(balancer, id);
        networks.delete(id);
        return { status: 204 };
      },
      actions: networkActions(project),
    }),
    "GET /networks/{id}/members": (request) => {
      const network = networks.existing(request.id);
      return pageOf("members", membersOf(project, network), request, (member) => member);
    },
  };
}

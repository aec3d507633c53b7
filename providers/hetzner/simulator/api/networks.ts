// Requests that list, create, change and delete networks.

import type { BodyReader } from "../base/body-reader.ts";
import { isPrivate, rangeOf } from "../base/ipv4.ts";
import type { Network, Subnet } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import { networkActions, readSubnet } from "./network-actions.ts";
import { type Handlers, refuseLocked } from "./request.ts";
import { resourceHandlers } from "./resource-handlers.ts";

function networkView({ networks }: Project, network: Network): unknown {
  const { id, name, created, labels, subnets, routes } = network;
  return {
    ...{ id, name, created, labels, subnets, routes },
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
      networks.delete(id);
      return { status: 204 };
    },
    actions: networkActions,
  });
}

// Actions of networks: routes, subnets, range and protection. While one runs, changes of the network are a conflict.

import { notFound, Refusal } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import { contains, type Range, rangeOf } from "../base/ipv4.ts";
import type { Network } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import { checkRoute, maxRoutes, readRoute, readSubnet } from "./network-rules.ts";
import { type Handlers, startAction } from "./request.ts";

function range({ ipRange }: Network): Range {
  return rangeOf(ipRange) ?? { first: 0, last: 0 };
}

export function networkActionHandlers(project: Project): Handlers {
  const { networks } = project;
  const path = "POST /networks/{id}/actions";
  const change = (id: number, command: string, changes: () => Partial<Network>) =>
    startAction(project, {
      command,
      resources: [{ type: "network", id }],
      end: () => networks.change(id, changes()),
    });
  return {
    [`${path}/add_route`]: ({ id, body: raw }) => {
      const network = networks.existing(id);
      const body = new BodyReader(raw);
      const route = readRoute(body);
      body.done();
      checkRoute(body, route, range(network), network);
      body.done();
      if (network.routes.length >= maxRoutes)
        throw new Refusal("resource_limit_exceeded", `a network can have at most ${maxRoutes} routes`);
      return change(id, "add_route", () => ({ routes: [...networks.existing(id).routes, route] }));
    },
    [`${path}/delete_route`]: ({ id, body: raw }) => {
      const network = networks.existing(id);
      const body = new BodyReader(raw);
      const { destination, gateway } = readRoute(body);
      body.done();
      const rest = network.routes.filter(
        (route) => route.destination !== destination || route.gateway !== gateway,
      );
      if (rest.length === network.routes.length) throw notFound("route", `${destination} via ${gateway}`);
      return change(id, "delete_route", () => ({ routes: rest }));
    },
    [`${path}/add_subnet`]: ({ id, body: raw }) => {
      const network = networks.existing(id);
      const body = new BodyReader(raw);
      const subnet = readSubnet(body, range(network), network);
      body.done();
      if (subnet === undefined) throw new Refusal("invalid_input", "invalid subnet");
      return change(id, "add_subnet", () => ({ subnets: [...network.subnets, subnet] }));
    },
    [`${path}/delete_subnet`]: ({ id, body: raw }) => {
      const { subnets } = networks.existing(id);
      const body = new BodyReader(raw);
      const ipRange = body.needText("ip_range");
      body.done();
      if (!subnets.some(({ ip_range }) => ip_range === ipRange)) throw notFound("subnet", ipRange);
      if (networks.hasAddressIn(id, ipRange))
        throw new Refusal("resource_in_use", "the subnet has attached resources");
      return change(id, "delete_subnet", () => ({
        subnets: subnets.filter(({ ip_range }) => ip_range !== ipRange),
      }));
    },
    [`${path}/change_ip_range`]: ({ id, body: raw }) => {
      const network = networks.existing(id);
      const body = new BodyReader(raw);
      const ipRange = body.needText("ip_range");
      const next = rangeOf(ipRange);
      if (next === undefined || next.first !== range(network).first || !contains(next, range(network)))
        body.reject("ip_range", "must extend the present range");
      body.done();
      return change(id, "change_ip_range", () => ({ ipRange }));
    },
    [`${path}/change_protection`]: ({ id, body: raw }) => {
      const network = networks.existing(id);
      const body = new BodyReader(raw);
      const isProtected = body.flag("delete") ?? network.isProtected;
      body.done();
      return change(id, "change_protection", () => ({ isProtected }));
    },
  };
}

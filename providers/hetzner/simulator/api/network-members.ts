// The members of a network: servers and load balancers with an address in it, also while they are being attached.

import { ipNumber, rangeOf } from "../base/ipv4.ts";
import { pageOf } from "../base/listing.ts";
import type { Network } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import type { Handlers } from "./request.ts";

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

export function networkMemberHandlers(project: Project): Handlers {
  return {
    "GET /networks/{id}/members": (request) => {
      const network = project.networks.existing(request.id);
      return pageOf("members", membersOf(project, network), request, (member) => member);
    },
  };
}

// A server as the API shows it. There is no `datacenter`, and servers without public addresses have null there.

import { locations, offer, serverTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import type { Server } from "../state/servers.ts";

function macOf(id: number, network: number): string {
  const hex = ((id * 4096 + network) % 2 ** 32).toString(16).padStart(8, "0");
  return `86:00:${(hex.match(/../g) ?? []).join(":")}`;
}

export function serverView({ actions }: Project, server: Server): unknown {
  const { id, name, created, status, labels, ipv4, ipv6, isProtected } = server;
  const type = offer(serverTypes, server.type);
  return {
    ...{ id, name, created, status, labels },
    server_type: type,
    location: offer(locations, server.location),
    public_net: {
      ipv4: ipv4 === null ? null : { id: id + 1, ip: ipv4, blocked: false, dns_ptr: `${name}.example.com` },
      ipv6: ipv6 === null ? null : { id: id + 2, ip: ipv6, blocked: false, dns_ptr: [] },
      floating_ips: [],
      firewalls: [],
    },
    private_net: server.privateNets.map(({ network, ip, aliasIps }) => ({
      network,
      ip,
      alias_ips: aliasIps,
      mac_address: macOf(id, network),
    })),
    protection: { delete: isProtected, rebuild: isProtected },
    locked: actions.isLocked({ type: "server", id }),
    ...{ backup_window: null, image: null, iso: null, placement_group: null, rescue_enabled: false },
    ...{ included_traffic: 21_990_232_555_520, ingoing_traffic: 0, outgoing_traffic: 0 },
    primary_disk_size: type.disk,
    volumes: [],
  };
}

// A load balancer as the API shows it, with the health of its targets and the servers that selectors choose.

import { labelSelector } from "../base/labels.ts";
import type { Balancer, Target } from "../state/balancers.ts";
import { loadBalancerTypes, locations, offer } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";

function serverTarget(project: Project, balancer: Balancer, id: number, usesPrivateIp: boolean): unknown {
  const status = project.health(balancer, id);
  return {
    type: "server",
    server: { id },
    health_status: balancer.services.map(({ listen_port }) => ({ listen_port, status })),
    use_private_ip: usesPrivateIp,
  };
}

function targetView(project: Project, balancer: Balancer, target: Target): unknown {
  switch (target.type) {
    case "server":
      return serverTarget(project, balancer, target.server, target.usesPrivateIp);
    case "ip":
      return {
        type: "ip",
        ip: { ip: target.ip },
        health_status: balancer.services.map(({ listen_port }) => ({ listen_port, status: "healthy" })),
      };
    case "label_selector": {
      const { type, selector, usesPrivateIp } = target;
      const matches = labelSelector(selector, "selector");
      const chosen = project.servers.list().filter(({ labels }) => matches(labels));
      return {
        type,
        label_selector: { selector },
        use_private_ip: usesPrivateIp,
        targets: chosen.map(({ id }) => serverTarget(project, balancer, id, usesPrivateIp)),
      };
    }
  }
}

export function balancerView(project: Project, balancer: Balancer): unknown {
  const { id, name, created, labels, services, ipv4, ipv6, pointers } = balancer;
  const address = (ip: string | null) => ({ ip, dns_ptr: ip === null ? null : (pointers[ip] ?? null) });
  return {
    ...{ id, name, created, labels, services },
    load_balancer_type: offer(loadBalancerTypes, balancer.type),
    location: offer(locations, balancer.location),
    algorithm: { type: balancer.algorithm },
    public_net: { enabled: balancer.isPublic, ipv4: address(ipv4), ipv6: address(ipv6) },
    private_net: balancer.privateNets,
    targets: balancer.targets.map((target) => targetView(project, balancer, target)),
    protection: { delete: balancer.isProtected },
    ...{ included_traffic: 21_990_232_555_520, ingoing_traffic: null, outgoing_traffic: null },
  };
}

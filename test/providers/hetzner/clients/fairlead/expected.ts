// The load balancer that the API must return for a case in the annotation table.

import type { ApiLoadBalancer } from "../../../../../providers/hetzner/resources.ts";
import { type AnnotationCase, checkDefaults, httpDefaults } from "../../annotations-table.ts";

/** Only the values that the case determines: names and addresses are left out. */
export function expectedOf(one: AnnotationCase, nodePort: number) {
  const {
    name,
    type = "lb11",
    location = "fsn1",
    algorithm = "round_robin",
    isPublic = true,
  } = one.balancer ?? {};
  return {
    ...(name !== undefined && { name }),
    type,
    location,
    algorithm,
    isPublic,
    service: {
      protocol: "tcp",
      listen_port: 80,
      destination_port: nodePort,
      proxyprotocol: false,
      ...one.service,
      health_check: { ...checkDefaults, port: nodePort, ...one.healthCheck },
      ...(one.http && { http: { ...httpDefaults, ...one.http } }),
    },
    pointers: { v4: one.balancer?.pointers?.["v4"] ?? null, v6: one.balancer?.pointers?.["v6"] ?? null },
    privateTargets: [one.targetsUsePrivateIP === true],
  };
}

export function observedOf(one: AnnotationCase, balancer: ApiLoadBalancer) {
  const { name, load_balancer_type, location, algorithm, public_net, services, targets } = balancer;
  return {
    ...(one.balancer?.name !== undefined && { name }),
    type: load_balancer_type.name,
    location: location.name,
    algorithm: algorithm.type,
    isPublic: public_net.enabled,
    service: services[0],
    pointers: { v4: public_net.ipv4.dns_ptr ?? null, v6: public_net.ipv6.dns_ptr ?? null },
    privateTargets: [...new Set(targets.map(({ use_private_ip }) => use_private_ip === true))],
  };
}

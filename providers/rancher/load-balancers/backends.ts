// The external services that a load balancer forwards to: one for each Node, or one with a health check for all. Pure.

import { type BalancerTarget, ipFamily } from "#ccm";
import type { HealthCheck } from "../api/resources.ts";
import type { Desired } from "./model.ts";
import { checkedServiceName, nodeServiceName } from "./names.ts";

export interface Backend {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly ips: readonly string[];
  readonly healthCheck?: HealthCheck;
}

/** The address at which the load balancer reaches a Node: its network has no IPv6. */
export const addressOf = ({ internalIPs, addresses }: BalancerTarget): string | undefined =>
  [...internalIPs, ...addresses].find((ip) => ipFamily(ip) === "IPv4");

export function backendsOf(desired: Desired): readonly Backend[] {
  const targets = desired.targets.flatMap((target) => {
    const ip = target.machine === undefined ? undefined : addressOf(target);
    return ip === undefined ? [] : [{ node: target.node, ip }];
  });
  const port = desired.healthCheckNodePort;
  if (port === undefined)
    return targets.map(({ node, ip }) => ({ name: nodeServiceName(node), nodes: [node], ips: [ip] }));
  if (targets.length === 0) return [];
  return [
    {
      name: checkedServiceName(desired.defaultName, port),
      nodes: targets.map(({ node }) => node),
      ips: targets.map(({ ip }) => ip).toSorted(),
      healthCheck: {
        port,
        requestLine: 'GET "/healthz" "HTTP/1.0"',
        interval: 2000,
        responseTimeout: 2000,
        healthyThreshold: 2,
        unhealthyThreshold: 3,
      },
    },
  ];
}

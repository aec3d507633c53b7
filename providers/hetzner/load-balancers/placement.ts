// Problems with where a load balancer is, or is to be created: location, type, network. Pure.

import type { Problem } from "#ccm";
import type { ApiLoadBalancer } from "../api/resources.ts";
import { reasons } from "../reasons.ts";
import type { Choices } from "./model.ts";

export function placeProblems(
  { type, location, networkZone, usesPrivateIP }: Choices,
  balancer: ApiLoadBalancer | undefined,
  networkID: number | undefined,
): readonly Problem[] {
  const problems: Problem[] = [];
  const warn = (reason: Problem["reason"], text: string) =>
    problems.push({ severity: "warning", reason, text });
  if (usesPrivateIP && networkID === undefined) {
    const text =
      "use-private-ip requires the private network of the cluster, which is not set. Nothing of the load balancer is changed. Set HCLOUD_NETWORK, or remove the annotation.";
    problems.push({ severity: "error", reason: "InvalidAnnotation", text });
  }
  if (balancer === undefined) {
    if (location === undefined && networkZone === undefined) {
      const text =
        "Neither a location nor a network zone is set, so no load balancer is created. Set load-balancer.hetzner.cloud/location, or HCLOUD_LOAD_BALANCERS_LOCATION for all Services.";
      problems.push({ severity: "error", reason: reasons.LocationMissing, text });
    }
    if (type === undefined) {
      warn(
        reasons.LoadBalancerTypeUnconfigured,
        "No type is set, so the load balancer is created with type lb11. Set load-balancer.hetzner.cloud/type, or HCLOUD_LOAD_BALANCERS_TYPE for all Services.",
      );
    }
    return problems;
  }
  const { name, deprecated } = balancer.load_balancer_type;
  if (deprecated !== null && (type ?? name) === name) {
    warn(
      reasons.LoadBalancerTypeDeprecated,
      `The load balancer type ${name} is deprecated since ${deprecated}. Choose another one with load-balancer.hetzner.cloud/type.`,
    );
  }
  const current = balancer.location;
  const isElsewhere =
    (location ?? current.name) !== current.name ||
    (networkZone ?? current.network_zone) !== current.network_zone;
  if (isElsewhere) {
    warn(
      "UnsupportedByCloud",
      `The load balancer stays in location ${current.name} (network zone ${current.network_zone}): Hetzner cannot move it to ${location ?? networkZone}. Delete and create the Service to move it, which changes its addresses.`,
    );
  }
  return problems;
}

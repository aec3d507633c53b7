// The security group of a Service, which opens its node ports for the load balancer on the ports of the Nodes. Pure.

import { allAddresses, cidrFamily, errorProblem, hasAll, type ProviderProblem } from "#ccm";
import { requestOf } from "./api.ts";
import type { Desired, Observed, OpenStackStep, Prefetched } from "./balancer.ts";
import { familyOf, memberAddress } from "./choices.ts";
import { portAt } from "./instances.ts";
import { groupDescription, groupName } from "./names.ts";
import type { ApiSecurityGroupRule } from "./resources.ts";
import type { Settings } from "./settings.ts";
import type { Steps } from "./steps.ts";

/** Removes the security group from the ports that have it, and then deletes it. */
export function groupRemoval(
  { securityGroup: group, groupPorts = [] }: Observed,
  steps: Steps,
): readonly OpenStackStep[] {
  if (group === undefined) return [];
  return [
    ...groupPorts.map((id) =>
      steps.network("remove security group from port", id, undefined, {
        port: { id, group: group.id, isAdded: false },
      }),
    ),
    steps.network(
      "delete security group",
      group.name,
      requestOf("DELETE", `/v2.0/security-groups/${group.id}`),
    ),
  ];
}

type Rule = ReturnType<typeof rulesOf>[number];

const isRule = (found: ApiSecurityGroupRule, rule: Rule): boolean =>
  hasAll({ ...found, protocol: found.protocol?.toLowerCase() }, rule);

/** Octavia forwards from the subnet of the members; ovn keeps the addresses of the clients. */
function rulesOf(desired: Desired, operator: Settings, subnet: string) {
  const ethertype = subnet.includes(":") ? "IPv6" : "IPv4";
  const { healthCheckNodePort: health, sourceRanges = allAddresses([ethertype]) } = desired;
  const clients = sourceRanges.filter((range) => cidrFamily(range) === ethertype);
  const ranges = operator["lb-provider"] === "ovn" ? clients : [subnet];
  const opened = (protocol: string, port: number, remote_ip_prefix: string) => ({
    direction: "ingress",
    ethertype,
    protocol: protocol.toLowerCase(),
    remote_ip_prefix,
    port_range_min: port,
    port_range_max: port,
  });
  return [
    ...(health === undefined ? [] : [opened("tcp", health, subnet)]),
    ...desired.ports.flatMap(({ protocol, nodePort }) =>
      nodePort === undefined ? [] : ranges.map((range) => opened(protocol, nodePort, range)),
    ),
  ];
}

/** The ports of the Nodes that members lead to, as far as Neutron filters their traffic. */
function portsOf(desired: Desired, subnet: string): readonly string[] {
  const all = desired.targets.flatMap((target) => {
    const port = portAt(target.machine?.handles, memberAddress(target, familyOf(desired)) ?? "");
    return port?.isFiltered === true && port.subnet === subnet ? [port.id] : [];
  });
  return [...new Set(all)];
}

export function groupSteps(
  desired: Desired,
  observed: Observed,
  {
    operator,
    subnets,
    cluster,
  }: { readonly operator: Settings; readonly subnets: Prefetched["subnets"]; readonly cluster: string },
  memberSubnet: string | undefined,
  steps: Steps,
): { readonly steps: readonly OpenStackStep[]; readonly problems?: readonly ProviderProblem[] } {
  const { securityGroup: group, groupPorts = [] } = observed;
  // Removes the group as the Go manager does, so that a changed setting leaves nothing behind.
  if (!operator["manage-security-groups"]) return { steps: groupRemoval(observed, steps) };
  const name = groupName(desired.owner);
  const description = groupDescription(cluster, desired.owner);
  if (group === undefined) {
    const body = { security_group: { name, description } };
    return {
      steps: [steps.network("create security group", name, requestOf("POST", "/v2.0/security-groups", body))],
    };
  }
  const id = memberSubnet ?? observed.balancer.vip_subnet_id ?? "";
  const subnet = subnets.find((one) => one.id === id);
  if (subnet === undefined) {
    const text = `The subnet ${id} of the members is not visible to these credentials, so no node port is opened for it. Set member-subnet-id.`;
    return { steps: [], problems: [errorProblem("MissingCloudObject", text)] };
  }
  const wanted = rulesOf(desired, operator, subnet.cidr);
  const existing = group.security_group_rules;
  const opened = wanted.filter((rule) => !existing.some((found) => isRule(found, rule)));
  const closed = existing.filter((found) => !wanted.some((rule) => isRule(found, rule)));
  const lacking = portsOf(desired, subnet.id).filter((port) => !groupPorts.includes(port));
  const path = "/v2.0/security-group-rules";
  return {
    steps: [
      ...opened.map((rule) => {
        const security_group_rule = { ...rule, security_group_id: group.id };
        const title = `open ${rule.protocol} port ${rule.port_range_min}`;
        const on = `${name} for ${rule.remote_ip_prefix}`;
        return steps.network(title, on, requestOf("POST", path, { security_group_rule }));
      }),
      ...lacking.map((port) =>
        steps.network("add security group to port", port, undefined, {
          port: { id: port, group: group.id, isAdded: true },
          targetsPart: "all",
        }),
      ),
      ...closed.map((rule) =>
        steps.network("delete rule", rule.id, requestOf("DELETE", `${path}/${rule.id}`)),
      ),
    ],
  };
}

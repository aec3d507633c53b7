// The address of a host to which the ports of a load balancer are bound: spec.loadBalancerIP. Pure.

import { ipFamily, isSameIp, type Problem } from "#ccm";
import type { ApiHost, ApiLoadBalancer } from "../api/resources.ts";
import type { Desired, Observed } from "./model.ts";

/** The address of all published ports, if they have one. */
function boundAddress({ launchConfig }: ApiLoadBalancer): string | undefined {
  const [address, ...others] = new Set(
    (launchConfig?.ports ?? []).map((port) => /^(.+):\d+:\d+(?:\/\w+)?$/.exec(port)?.[1]),
  );
  return others.length === 0 ? address : undefined;
}

/** Without spec.loadBalancerIP, an existing load balancer keeps its address. */
export const addressFor = ({ requestedAddress }: Desired, observed: Observed): string | undefined =>
  requestedAddress ?? boundAddress(observed.balancer);

export const isBoundTo = ({ balancer }: Observed, address: string): boolean =>
  isSameIp(boundAddress(balancer) ?? "", address);

export function hostWith(address: string, hosts: readonly ApiHost[]): string | undefined {
  const isOn = ({ ipAddresses, agentIpAddress }: ApiHost) =>
    [agentIpAddress, ...(ipAddresses ?? []).map((one) => one.address)].some((ip) =>
      isSameIp(ip ?? "", address),
    );
  return hosts.find(isOn)?.id;
}

export function addressProblems(
  { requestedAddress: address, settings }: Desired,
  observed: Observed | undefined,
  hosts: readonly ApiHost[],
): readonly Problem[] {
  if (address === undefined) return [];
  const error = (reason: Problem["reason"], text: string): readonly Problem[] => [
    { severity: "error", reason, text: `spec.loadBalancerIP ${address} ${text}`, key: "spec.loadBalancerIP" },
  ];
  if (ipFamily(address) === "IPv6")
    return error(
      "UnsupportedByCloud",
      "is an IPv6 address, and Rancher binds ports to IPv4 addresses only. Nothing is changed. Use the IPv4 address of a host, or remove the field.",
    );
  const scale = settings["lb-scale"] ?? 1;
  if (scale !== 1 || settings["lb-host-selector"] !== undefined)
    return error(
      "UnsupportedByCloud",
      "is on one host, so the load balancer has one container there. Nothing is changed. Remove service.rancher.io/lb-scale and lb-host-selector, or the field.",
    );
  const isFound = hostWith(address, hosts) !== undefined;
  if (isFound || (observed !== undefined && isBoundTo(observed, address))) return [];
  return error(
    "MissingCloudObject",
    "is on no host of the environment. Nothing is changed. Use an address of a host, or remove the field: then Rancher chooses the host.",
  );
}

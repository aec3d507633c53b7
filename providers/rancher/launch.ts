// Where the containers of a load balancer run: its image, its hosts, its address, and what of it can be changed. Pure.

import { errorProblem, ipFamily, isSameIp, type Problem } from "#ccm";
import type { Desired, Observed, Prefetched, RancherStep } from "./balancer.ts";
import { portsOf, publishedPorts } from "./ports.ts";
import type { ApiHost, ApiLoadBalancer, LaunchConfig } from "./resources.ts";

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
  const key = "spec.loadBalancerIP";
  const error = (reason: Problem["reason"], text: string) => [
    errorProblem(reason, `${key} ${address} ${text}`, key),
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

const globalLabel = "io.rancher.scheduler.global";
const selectorLabel = "io.rancher.scheduler.affinity:host_label";

const isGlobal = ({ launchConfig }: Observed["balancer"]): boolean =>
  launchConfig?.labels?.[globalLabel] === "true";

export function launchConfigOf(desired: Desired, image: string, hosts: Prefetched["hosts"]): LaunchConfig {
  const { settings, requestedAddress } = desired;
  const selector = settings["lb-host-selector"];
  const host = requestedAddress && hostWith(requestedAddress, hosts);
  return {
    imageUuid: image.startsWith("docker:") ? image : `docker:${image}`,
    ports: publishedPorts(portsOf(desired), requestedAddress),
    labels: {
      ...(settings["lb-scale"] === "global" && { [globalLabel]: "true" }),
      ...(selector !== undefined && { [selectorLabel]: selector }),
    },
    ...(host !== undefined && { requestedHostId: host }),
  };
}

/** In one order: it has no meaning. */
const termsOf = (selector: string): string => selector.replaceAll(/\s/g, "").split(",").toSorted().join();

/** What only a new load balancer can have. Without a value, an existing one keeps its own. */
export function reasonToRecreate(desired: Desired, observed: Observed): string | undefined {
  const { settings, requestedAddress } = desired;
  const { balancer } = observed;
  const { "lb-scale": scale, "lb-host-selector": selector } = settings;
  if (scale !== undefined && (scale === "global") !== isGlobal(balancer)) return "its scale";
  const observedSelector = balancer.launchConfig?.labels?.[selectorLabel] ?? "";
  if (selector !== undefined && termsOf(selector) !== termsOf(observedSelector)) return "its hosts";
  // Without a published port, none can be bound to the address.
  if (requestedAddress === undefined || portsOf(desired).length === 0) return undefined;
  return isBoundTo(observed, requestedAddress) ? undefined : "its address";
}

/** Without what the server adds: the type, a registry, and the tag of an image without one. */
const plainImage = (image: string): string => image.replace(/^docker:/, "").replace(/:latest$/, "");

function hasImage({ launchConfig }: Observed["balancer"], image: string): boolean {
  const [observed, wanted] = [plainImage(launchConfig?.imageUuid ?? ""), plainImage(image)];
  return observed === wanted || observed.endsWith(`/${wanted}`);
}

/** From the beginning of an upgrade to its end. */
const upgradeStates = /upgrad|rolling-back/;

/** The server replaces the containers, and waits for its client to finish. What another client began is left to it. */
export function planUpgrade(
  { settings }: Desired,
  { balancer }: Observed,
): readonly RancherStep[] | "not now" {
  const image = settings["lb-image"];
  const { name, state, actions = {}, launchConfig } = balancer;
  if (image === undefined) return [];
  const { upgrade, finishupgrade } = actions;
  if (hasImage(balancer, image)) {
    if (state !== "upgraded" || finishupgrade === undefined) return [];
    return [{ do: "finish upgrade", on: name, send: { kind: "act", link: finishupgrade } }];
  }
  if (upgradeStates.test(state)) return "not now";
  if (state !== "active" || upgrade === undefined) return [];
  const imageUuid = image.startsWith("docker:") ? image : `docker:${image}`;
  const strategy = { batchSize: 1, intervalMillis: 2000, startFirst: false };
  const body = { inServiceStrategy: { ...strategy, launchConfig: { ...launchConfig, imageUuid } } };
  return [{ do: "upgrade load balancer", on: name, send: { kind: "act", link: upgrade, body } }];
}

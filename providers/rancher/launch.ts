// Where the containers of a load balancer run: its image, hosts and address, its current settings, and which of them can be changed. Pure.

import { errorProblem, ipFamily, isSameIp, type Plan, type ProviderProblem, type Values } from "#ccm";
import {
  type Annotations,
  type Desired,
  type Observed,
  type RancherStep,
  waitForBalancer,
} from "./balancer.ts";
import { portsOf, protocolsOf, publishedPorts, sendsProxy } from "./lb-config.ts";
import { type ApiHost, type LaunchConfig, linkFor } from "./resources.ts";

/** The address of all published ports, if they are bound to one. */
function boundAddress({ balancer: { launchConfig } }: Observed): string | undefined {
  const [address, ...others] = new Set(
    (launchConfig?.ports ?? []).map((port) => /^(.+):\d+:\d+(?:\/\w+)?$/.exec(port)?.[1]),
  );
  return others.length === 0 ? address : undefined;
}

/** Without spec.loadBalancerIP, an existing load balancer keeps its address. */
export const addressFor = ({ requestedAddress }: Desired, observed: Observed): string | undefined =>
  requestedAddress ?? boundAddress(observed);

const isBoundTo = (observed: Observed, address: string): boolean =>
  isSameIp(boundAddress(observed) ?? "", address);

function hostWith(address: string, hosts: readonly ApiHost[]): string | undefined {
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
): readonly ProviderProblem[] {
  if (address === undefined) return [];
  const key = "spec.loadBalancerIP";
  const error = (reason: ProviderProblem["reason"], text: string) => [
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

const uuidOf = (image: string): string => (image.startsWith("docker:") ? image : `docker:${image}`);

export function launchConfigOf(desired: Desired, image: string, hosts: readonly ApiHost[]): LaunchConfig {
  const { settings, requestedAddress } = desired;
  const selector = settings["lb-host-selector"];
  const host = requestedAddress && hostWith(requestedAddress, hosts);
  return {
    imageUuid: uuidOf(image),
    ports: publishedPorts(desired, requestedAddress),
    labels: {
      ...(settings["lb-scale"] === "global" && { [globalLabel]: "true" }),
      ...(selector !== undefined && { [selectorLabel]: selector }),
    },
    ...(host !== undefined && { requestedHostId: host }),
  };
}

/** The annotation values of an existing load balancer: an invalid annotation keeps them. */
export function settingsOf({ balancer }: Observed): Partial<Values<Annotations>> {
  const { launchConfig, lbConfig, scale } = balancer;
  const labels = launchConfig?.labels ?? {};
  return {
    "lb-scale": labels[globalLabel] === "true" ? "global" : (scale ?? 1),
    // Without the label, the load balancer runs on any host.
    "lb-host-selector": labels[selectorLabel] ?? "",
    "lb-protocol": protocolsOf(lbConfig?.portRules ?? []),
    "lb-certificates": lbConfig?.certificateIds ?? undefined,
    "lb-default-certificate": lbConfig?.defaultCertificateId ?? undefined,
    "lb-proxy-protocol": sendsProxy(lbConfig?.config),
    "lb-stickiness-cookie": lbConfig?.stickinessPolicy?.cookie ?? undefined,
    "lb-image": launchConfig?.imageUuid ?? undefined,
  };
}

/** The terms in one order, because their order has no meaning. */
const termsOf = (selector: string): string => selector.replaceAll(/\s/g, "").split(",").toSorted().join();

/** Settings that require a new load balancer. Without a value, an existing load balancer keeps its setting. */
export function reasonToRecreate(desired: Desired, observed: Observed): string | undefined {
  const { settings, requestedAddress } = desired;
  const { "lb-scale": scale, "lb-host-selector": selector } = settings;
  const current = settingsOf(observed);
  if (scale !== undefined && (scale === "global") !== (current["lb-scale"] === "global")) return "its scale";
  if (selector !== undefined && termsOf(selector) !== termsOf(current["lb-host-selector"] ?? ""))
    return "its hosts";
  // Without a published port, no port can be bound to the address.
  if (requestedAddress === undefined || portsOf(desired).length === 0) return undefined;
  return isBoundTo(observed, requestedAddress) ? undefined : "its address";
}

/** Removes the server's additions: the type, a registry, and the default image tag. */
const plainImage = (image: string): string => image.replace(/^docker:/, "").replace(/:latest$/, "");

/** The states from the beginning of an upgrade to its end. */
const upgradeStates = /upgrad|rolling-back/;

/**
 * The server replaces the containers, and waits for its client to finish the upgrade. Fairlead does not finish
 * an operation that another client began.
 */
export function planUpgrade({ settings }: Desired, observed: Observed): Plan<RancherStep> {
  const { balancer } = observed;
  const image = settings["lb-image"];
  const { name, state, launchConfig } = balancer;
  if (image === undefined) return { steps: [] };
  const [current, wanted] = [plainImage(launchConfig?.imageUuid ?? ""), plainImage(image)];
  if (current === wanted || current.endsWith(`/${wanted}`)) {
    const link = state === "upgraded" ? linkFor(balancer, "finishupgrade") : undefined;
    return { steps: link === undefined ? [] : [{ do: "finish upgrade", on: name, kind: "act", link }] };
  }
  if (upgradeStates.test(state)) {
    const what = `to accept another image, it is ${state}: finish or roll back its upgrade in Rancher`;
    return waitForBalancer(observed, what);
  }
  const link = state === "active" ? linkFor(balancer, "upgrade") : undefined;
  if (link === undefined) return { steps: [] };
  const strategy = { batchSize: 1, intervalMillis: 2000, startFirst: false };
  const changed = { ...launchConfig, imageUuid: uuidOf(image) };
  const body = { inServiceStrategy: { ...strategy, launchConfig: changed } };
  return { steps: [{ do: "upgrade load balancer", on: name, kind: "act", link, body }] };
}

// The annotations as an existing load balancer has them: an invalid annotation keeps this value. Pure.

import type { Values } from "#ccm";
import type { Protocol, Protocols, Scale } from "../annotations.ts";
import type { PortRule } from "../api/resources.ts";
import { sendsProxy } from "./haproxy.ts";
import type { Annotations, Observed } from "./model.ts";

const protocols: readonly Protocol[] = ["tcp", "http", "https", "tls", "udp"];

function protocolsOf(rules: readonly PortRule[]): Protocols | undefined {
  const byPort: Record<string, Protocol> = {};
  for (const { sourcePort, protocol } of rules) {
    const known = protocols.find((one) => one === (protocol ?? "http"));
    if (known !== undefined) byPort[String(sourcePort)] = known;
  }
  return Object.keys(byPort).length === 0 ? undefined : { byPort };
}

export function settingsOf({ balancer }: Observed): Partial<Values<Annotations>> {
  const { launchConfig, lbConfig, scale } = balancer;
  const labels = launchConfig?.labels ?? {};
  const observedScale: Scale = labels["io.rancher.scheduler.global"] === "true" ? "global" : (scale ?? 1);
  return {
    "lb-scale": observedScale,
    // Without the label, it runs on any host.
    "lb-host-selector": labels["io.rancher.scheduler.affinity:host_label"] ?? "",
    "lb-protocol": protocolsOf(lbConfig?.portRules ?? []),
    "lb-certificates": lbConfig?.certificateIds ?? undefined,
    "lb-default-certificate": lbConfig?.defaultCertificateId ?? undefined,
    "lb-proxy-protocol": sendsProxy(lbConfig?.config),
    "lb-stickiness-cookie": lbConfig?.stickinessPolicy?.cookie ?? undefined,
    "lb-image": launchConfig?.imageUuid ?? undefined,
  };
}

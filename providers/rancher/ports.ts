// The ports of a Service that a load balancer publishes, and what is wrong with them. Pure.

import type { Problem } from "#ccm";
import type { Protocol } from "./annotations.ts";
import type { Desired } from "./balancer.ts";

/** A port of the Service that Rancher can forward. */
export interface Port {
  readonly port: number;
  readonly nodePort: number;
  readonly protocol: Protocol;
}

export function portsOf({ ports, settings }: Desired): readonly Port[] {
  const chosen = settings["lb-protocol"];
  return ports.flatMap(({ port, nodePort, protocol }) => {
    if (nodePort === undefined || protocol === "SCTP") return [];
    const own = chosen?.byPort[String(port)] ?? chosen?.all;
    return { port, nodePort, protocol: protocol === "UDP" ? "udp" : (own ?? "tcp") } as const;
  });
}

/** As the API writes published ports: on all addresses of a host, or on one of them. */
export function publishedPorts(ports: readonly Port[], address: string | undefined): readonly string[] {
  const prefix = address === undefined ? "" : `${address}:`;
  return ports
    .map(({ port, protocol }) => `${prefix}${port}:${port}/${protocol === "udp" ? "udp" : "tcp"}`)
    .toSorted();
}

/** What is wrong with the annotations of a Service. Nothing of it is changed until an error is corrected. */
export function portProblems(desired: Desired): readonly Problem[] {
  const { ports, settings, sourceRanges, families } = desired;
  const problems: Problem[] = [];
  const report = (severity: Problem["severity"], reason: Problem["reason"], text: string) =>
    problems.push({ severity, reason, text });
  if (!families.includes("IPv4"))
    report(
      "error",
      "UnsupportedByCloud",
      "The Service has only IPv6, and Rancher's load balancers have only IPv4 addresses. Nothing is changed. Add IPv4 to its ipFamilies.",
    );
  const without = ports.filter(({ nodePort }) => nodePort === undefined).map(({ port }) => port);
  if (without.length > 0)
    report(
      "warning",
      "UnsupportedByCloud",
      `Rancher forwards to node ports, and these ports have none: ${without.join(", ")}. They are left out. Remove allocateLoadBalancerNodePorts: false.`,
    );
  const protocols = settings["lb-protocol"];
  for (const name of Object.keys(protocols?.byPort ?? {})) {
    if (ports.some(({ port }) => String(port) === name)) continue;
    report(
      "warning",
      "InvalidAnnotation",
      `service.rancher.io/lb-protocol names port ${name}, which the Service does not have. It is ignored.`,
    );
  }
  const reserved = ports.find(({ port }) => port === 42);
  if (reserved !== undefined)
    report(
      "error",
      "UnsupportedByCloud",
      "Rancher uses port 42 of its load balancers for their health check. Nothing is changed. Use another port.",
    );
  const all = portsOf(desired);
  const isSecure = all.some(({ protocol }) => protocol === "https" || protocol === "tls");
  if (isSecure && (settings["lb-certificates"] ?? settings["lb-default-certificate"]) === undefined)
    report(
      "error",
      "InvalidAnnotation",
      "A port with https or tls needs a certificate. Nothing is changed. Set service.rancher.io/lb-default-certificate.",
    );
  const udp = all.filter(({ protocol }) => protocol === "udp").map(({ port }) => port);
  if (udp.length > 0 && sourceRanges !== undefined)
    report(
      "warning",
      "UnsupportedByCloud",
      `Source ranges have no effect on the UDP ports ${udp.join(", ")}: haproxy does not forward them. Use a firewall.`,
    );
  return problems;
}

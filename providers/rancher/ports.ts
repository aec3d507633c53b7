// The ports of a Service that a load balancer publishes, and what is wrong with them. Pure.

import { applicable, errorProblem, type Problem, warningProblem } from "#ccm";
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

const onlyIPv6 =
  "The Service has only IPv6, and Rancher's load balancers have only IPv4 addresses. Nothing is changed. Add IPv4 to its ipFamilies.";
const reserved =
  "Rancher uses port 42 of its load balancers for their health check. Nothing is changed. Use another port.";
const noCertificate =
  "A port with https or tls needs a certificate. Nothing is changed. Set service.rancher.io/lb-default-certificate.";

/** What is wrong with the annotations of a Service. Nothing of it is changed until an error is corrected. */
export function portProblems(desired: Desired): readonly Problem[] {
  const { ports, settings, sourceRanges, families } = desired;
  const without = ports.filter(({ nodePort }) => nodePort === undefined).map(({ port }) => port);
  const noNodePort = `Rancher forwards to node ports, and these ports have none: ${without.join(", ")}. They are left out. Remove allocateLoadBalancerNodePorts: false.`;
  const named = Object.keys(settings["lb-protocol"]?.byPort ?? {});
  const others = named.filter((name) => ports.every(({ port }) => String(port) !== name));
  const all = portsOf(desired);
  const isSecure = all.some(({ protocol }) => protocol === "https" || protocol === "tls");
  const hasCertificate = (settings["lb-certificates"] ?? settings["lb-default-certificate"]) !== undefined;
  const udp = all.filter(({ protocol }) => protocol === "udp").map(({ port }) => port);
  const notFiltered = `Source ranges have no effect on the UDP ports ${udp.join(", ")}: haproxy does not forward them. Use a firewall.`;
  return applicable(
    !families.includes("IPv4") && errorProblem("UnsupportedByCloud", onlyIPv6),
    without.length > 0 && warningProblem("UnsupportedByCloud", noNodePort),
    ...others.map((name) => {
      const text = `service.rancher.io/lb-protocol names port ${name}, which the Service does not have. It is ignored.`;
      return warningProblem("InvalidAnnotation", text);
    }),
    ports.some(({ port }) => port === 42) && errorProblem("UnsupportedByCloud", reserved),
    isSecure && !hasCertificate && errorProblem("InvalidAnnotation", noCertificate),
    udp.length > 0 && sourceRanges !== undefined && warningProblem("UnsupportedByCloud", notFiltered),
  );
}

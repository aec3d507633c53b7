// A service as the server stores it: a load balancer or an external service, and the public endpoints of a load balancer.

import type { Host } from "./hosts.ts";

export type ServiceType = "loadBalancerService" | "externalService";

export interface PortRule {
  readonly sourcePort: number;
  readonly targetPort: number | null;
  readonly protocol: string;
  readonly serviceId: string | null;
  readonly selector: string | null;
  readonly backendName: string | null;
  readonly hostname?: string | null;
  readonly path?: string | null;
  readonly priority?: number | null;
}

export interface LaunchConfig {
  readonly imageUuid: string;
  readonly ports: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly requestedHostId?: string | null;
}

export interface LbConfig {
  readonly portRules: readonly PortRule[];
  readonly certificateIds: readonly string[];
  readonly defaultCertificateId: string | null;
  readonly config: string | null;
  readonly stickinessPolicy: Readonly<Record<string, unknown>> | null;
}

/** The fields that clients can set. */
export interface ServiceFields {
  readonly name: string;
  readonly stackId: string;
  readonly scale: number;
  readonly launchConfig: LaunchConfig | null;
  readonly lbConfig: LbConfig | null;
  readonly externalIpAddresses: readonly string[] | null;
  /** An external service has a host name instead of addresses. */
  readonly hostname?: string | null;
  readonly healthCheck: Readonly<Record<string, unknown>> | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly startOnCreate: boolean;
}

export interface Service extends ServiceFields {
  readonly id: string;
  readonly type: ServiceType;
  readonly state: string;
  readonly removed: string | null;
  /** The ids of the services that a load balancer forwards to, from its rules or from the last `setservicelinks`. */
  readonly serviceLinks: readonly string[];
  readonly transitioning: "yes" | "no" | "error";
  readonly transitioningMessage: string | null;
  /** The ports of the containers. A change of only the bind address does not affect them. */
  readonly boundPorts: readonly string[];
  /** The time when the load balancer became active, for its endpoints. */
  readonly activeSince: number | null;
  readonly next: { readonly at: number; readonly state: string } | null;
}

export interface Endpoint {
  readonly ip: string;
  readonly host: string;
  readonly port: number;
}

export function endpointsOf(
  { activeSince, launchConfig, scale, boundPorts }: Service,
  all: readonly Host[],
): readonly Endpoint[] {
  if (activeSince === null || launchConfig === null) return [];
  const { labels, requestedHostId = null } = launchConfig;
  const selector = labels["io.rancher.scheduler.affinity:host_label"] ?? "";
  const wanted = selector.split(",").flatMap((one) => (one === "" ? [] : [one.trim().split("=")]));
  const hosts = all
    .filter(({ state, ips }) => state === "active" && ips.length > 0)
    .filter((host) => wanted.every(([name = "", value]) => host.labels[name] === value))
    .filter(({ id }) => requestedHostId === null || id === requestedHostId);
  const count = labels["io.rancher.scheduler.global"] === "true" ? hosts.length : scale;
  return hosts.slice(0, count).flatMap(({ id, ips: [ip = ""] }) =>
    boundPorts.map((port) => {
      const { address = ip, number } = parsePort(port);
      return { ip: address, host: id, port: number };
    }),
  );
}

/** Parses `80:8080/tcp`, preceded by the address if the port is bound to one. */
export function parsePort(port: string): { readonly address?: string; readonly number: number } {
  const parts = port.replace(/\/.*$/, "").split(":");
  const number = Number(parts.at(-2) ?? parts[0]);
  const [address] = parts.length === 3 ? parts : [];
  return address === undefined ? { number } : { address, number };
}

// The public endpoints of a load balancer: one for each of its containers and ports. The containers run on the first hosts.

import type { Host } from "./hosts.ts";
import type { Service } from "./service.ts";

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

/** `80:8080/tcp`, with the address before it if it is bound to one. */
export function parsePort(port: string): { readonly address?: string; readonly number: number } {
  const parts = port.replace(/\/.*$/, "").split(":");
  const number = Number(parts.at(-2) ?? parts[0]);
  const [address] = parts.length === 3 ? parts : [];
  return address === undefined ? { number } : { address, number };
}

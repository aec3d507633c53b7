// The public endpoints of a load balancer: one for each of its containers and ports. The containers run on the first hosts.

import type { Host } from "./hosts.ts";
import type { Service } from "./service.ts";

export interface Endpoint {
  readonly ip: string;
  readonly host: string;
  readonly port: number;
}

export function endpointsOf(
  { activeSince, launchConfig, scale }: Service,
  all: readonly Host[],
): readonly Endpoint[] {
  if (activeSince === null || launchConfig === null) return [];
  const { labels, ports } = launchConfig;
  const [name = "", value] = (labels["io.rancher.scheduler.affinity:host_label"] ?? "").split("=");
  const hosts = all
    .filter(({ state, ips }) => state === "active" && ips.length > 0)
    .filter((host) => name === "" || host.labels[name] === value);
  const count = labels["io.rancher.scheduler.global"] === "true" ? hosts.length : scale;
  return hosts
    .slice(0, count)
    .flatMap(({ id, ips: [ip = ""] }) =>
      ports.map((port) => ({ ip, host: id, port: Number.parseInt(port, 10) })),
    );
}

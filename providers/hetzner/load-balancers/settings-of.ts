// The annotations as an existing load balancer has them: an invalid annotation keeps this value. Pure.

import { seconds, type Values } from "#ccm";
import type { ApiService } from "../api/resources.ts";
import type { Annotations, Observed } from "./model.ts";

type OwnSettings = Partial<Values<Annotations>>;

const oneOf = <T extends string>(choices: readonly T[], text: string | undefined): T | undefined =>
  choices.find((choice) => choice === text);

/** All ports have the same settings. */
function settingsOfPort({ protocol, proxyprotocol, http, health_check }: ApiService): OwnSettings {
  const timeout = http?.timeout_idle;
  const lifetime = http?.cookie_lifetime;
  return {
    protocol: oneOf(["tcp", "http", "https"], protocol) ?? "tcp",
    "uses-proxyprotocol": proxyprotocol,
    "http-sticky-sessions": http?.sticky_sessions,
    "http-redirect-http": http?.redirect_http,
    "http-cookie-lifetime": lifetime === undefined ? undefined : seconds(lifetime),
    "http-timeout-idle": timeout === undefined ? undefined : seconds(timeout),
    "health-check-protocol": oneOf(["tcp", "http", "https"], health_check.protocol),
    "health-check-port": health_check.port,
    "health-check-interval": seconds(health_check.interval),
    "health-check-timeout": seconds(health_check.timeout),
    "health-check-retries": health_check.retries,
    "health-check-http-validate-certificate": health_check.http?.tls,
  };
}

export function settingsOf({ balancer }: Observed): OwnSettings {
  const { algorithm, public_net, private_net, services, targets } = balancer;
  const [port] = services;
  return {
    "algorithm-type": oneOf(["round_robin", "least_connections"], algorithm.type),
    "disable-public-network": !public_net.enabled,
    "use-private-ip": targets.find(({ type }) => type === "server")?.use_private_ip,
    "private-ipv4": private_net[0]?.ip,
    ...(port === undefined ? {} : settingsOfPort(port)),
  };
}

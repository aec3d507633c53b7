// The health checks of classic and network load balancers, in three modes: the node port, the health check node port of
// externalTrafficPolicy: Local, and kube-proxy. Pure.

import type { ClassicHealthCheck } from "../api/elb.ts";
import type { HealthCheck } from "../api/elbv2.ts";
import type { BalancerSettings, Desired } from "./balancer.ts";

interface Checked {
  readonly protocol: string;
  readonly port: number | "traffic-port";
  readonly path: string;
}

/** The health check of kube-proxy for externalTrafficPolicy: Cluster. Undefined if node ports are checked. */
function sharedCheckOf(operator: BalancerSettings): Checked | undefined {
  const port = operator["cluster-service-shared-load-balancer-health-probe-port"];
  const path = operator["cluster-service-shared-load-balancer-health-probe-path"];
  const isShared = operator["cluster-service-load-balancer-health-probe-mode"] === "Shared";
  return isShared ? { protocol: "HTTP", port, path } : undefined;
}

const isHTTP = (protocol: string): boolean => protocol === "HTTP" || protocol === "HTTPS";

/** The target in the form `HTTP:30080/healthz`, with the first node port if the traffic port is checked. */
export function classicCheck(
  desired: Desired,
  firstPort: number,
  operator: BalancerSettings,
): ClassicHealthCheck {
  const { settings, healthCheckNodePort } = desired;
  const backend = settings["backend-protocol"];
  const plain = {
    protocol: backend === "https" || backend === "ssl" ? "SSL" : "TCP",
    port: firstPort,
    path: "/",
  };
  const mode: Checked =
    healthCheckNodePort !== undefined
      ? { protocol: "HTTP", port: healthCheckNodePort, path: "/healthz" }
      : (sharedCheckOf(operator) ?? plain);
  const protocol = settings["healthcheck-protocol"]?.toUpperCase() ?? mode.protocol;
  const wanted = settings["healthcheck-port"];
  const isOfTraffic = wanted === "traffic-port" && healthCheckNodePort !== undefined;
  const port = isOfTraffic ? firstPort : typeof wanted === "number" ? wanted : mode.port;
  const path = isHTTP(protocol) ? (settings["healthcheck-path"] ?? mode.path) : "";
  return {
    Target: `${protocol}:${port}${path}`,
    HealthyThreshold: settings["healthcheck-healthy-threshold"] ?? 2,
    UnhealthyThreshold: settings["healthcheck-unhealthy-threshold"] ?? 6,
    Timeout: settings["healthcheck-timeout"] ?? 5,
    Interval: settings["healthcheck-interval"] ?? 10,
  };
}

/** AWS keeps the protocol of a target in the case in which it was written. */
export function isSameClassicCheck(
  wanted: ClassicHealthCheck,
  found: { readonly [K in keyof ClassicHealthCheck]?: string | null | undefined } | null | undefined,
): boolean {
  const target = (text: string) => text.replace(/^[a-z]+/, (protocol) => protocol.toUpperCase());
  if (!found || target(found.Target ?? "") !== wanted.Target) return false;
  const numbers = ["HealthyThreshold", "UnhealthyThreshold", "Timeout", "Interval"] as const;
  return numbers.every((name) => Number(found[name]) === wanted[name]);
}

export type NetworkCheck = Required<Omit<HealthCheck, "HealthCheckPath" | "HealthCheckTimeoutSeconds">> &
  HealthCheck;

/** As in the Go manager, the annotations do not affect the health check of kube-proxy. */
export function networkCheck(
  { settings, healthCheckNodePort }: Desired,
  operator: BalancerSettings,
): NetworkCheck {
  const isLocal = healthCheckNodePort !== undefined;
  const protocol = settings["healthcheck-protocol"]?.toUpperCase() ?? (isLocal ? "HTTP" : "TCP");
  const port = settings["healthcheck-port"] ?? healthCheckNodePort ?? "traffic-port";
  const own = { protocol, port, path: settings["healthcheck-path"] ?? (isLocal ? "/healthz" : "/") };
  const checked: Checked = (isLocal ? undefined : sharedCheckOf(operator)) ?? own;
  const usual = isLocal ? { interval: 10, times: 2 } : { interval: 30, times: 3 };
  const timeout = settings["healthcheck-timeout"];
  return {
    HealthCheckProtocol: checked.protocol,
    HealthCheckPort: String(checked.port),
    ...(isHTTP(checked.protocol) && { HealthCheckPath: checked.path }),
    HealthCheckIntervalSeconds: settings["healthcheck-interval"] ?? usual.interval,
    ...(timeout !== undefined && { HealthCheckTimeoutSeconds: timeout }),
    HealthyThresholdCount: settings["healthcheck-healthy-threshold"] ?? usual.times,
    UnhealthyThresholdCount: settings["healthcheck-unhealthy-threshold"] ?? usual.times,
  };
}

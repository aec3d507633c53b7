// The ports of a load balancer ("services" in the API): the desired ports of a Service, and whether an existing port matches. Pure.

import { hasAll, type ProviderProblem, warningProblem } from "#ccm";
import type { Desired } from "./balancer.ts";
import type { ApiHealthCheck, ApiService } from "./resources.ts";

/** A port with only the configured values: the cloud keeps its values for all others. */
export interface ServiceSpec {
  readonly protocol: "tcp" | "http" | "https";
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol?: boolean;
  readonly http?: NonNullable<ApiService["http"]>;
  readonly health_check: Partial<ApiHealthCheck> & Pick<ApiHealthCheck, "protocol" | "port">;
}

/** The cloud's defaults, which a new port must state. */
const healthCheckDefaults = { interval: 15, timeout: 10, retries: 3 };
/** The values that the API requires of a new port whose health check has HTTP options. */
const httpCheckDefaults = { domain: null, path: "/" };

/** Truncated to whole seconds, as in the Go manager. */
const inSeconds = (value: number | undefined) => (value === undefined ? undefined : Math.trunc(value / 1000));

/** The object without undefined members; undefined if nothing remains. */
function compact<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } | undefined {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as never);
}

/** TCP ports have no HTTP options. */
function httpOf({ settings: own }: Desired, certificates: readonly number[] | undefined) {
  if (own.protocol === "tcp") return undefined;
  return compact({
    cookie_name: own["http-cookie-name"],
    cookie_lifetime: inSeconds(own["http-cookie-lifetime"]),
    certificates,
    redirect_http: own["http-redirect-http"],
    sticky_sessions: own["http-sticky-sessions"],
    timeout_idle: inSeconds(own["http-timeout-idle"]),
  });
}

/** Any health check setting makes the check explicit; its protocol then defaults to the port's. */
function healthCheckOf({ settings: own }: Desired, port: number): ServiceSpec["health_check"] {
  const times = compact({
    interval: inSeconds(own["health-check-interval"]),
    timeout: inSeconds(own["health-check-timeout"]),
    retries: own["health-check-retries"],
  });
  const isExplicit =
    times !== undefined ||
    own["health-check-protocol"] !== undefined ||
    own["health-check-port"] !== undefined;
  if (!isExplicit) return { protocol: "tcp", port };
  const protocol = own["health-check-protocol"] ?? own.protocol;
  const check = { ...times, port: own["health-check-port"] ?? port };
  if (protocol === "tcp") return { ...check, protocol };
  const http = compact({
    domain: own["health-check-http-domain"],
    path: own["health-check-http-path"],
    status_codes: own["http-status-codes"],
    // The API has no health check with the protocol https, only http with TLS.
    tls: own["health-check-http-validate-certificate"] ?? (protocol === "https" ? true : undefined),
  });
  return { ...check, protocol: "http", ...(http && { http }) };
}

/** The ports of the Service that the cloud can forward. */
export function serviceSpecs(
  desired: Desired,
  certificates: readonly number[] | undefined,
): readonly ServiceSpec[] {
  const { ports, settings } = desired;
  const proxyprotocol = settings["uses-proxyprotocol"];
  const http = httpOf(desired, certificates);
  return ports.flatMap(({ protocol, port, nodePort }) =>
    protocol !== "TCP" || nodePort === undefined
      ? []
      : {
          protocol: settings.protocol,
          listen_port: port,
          destination_port: nodePort,
          ...(proxyprotocol !== undefined && { proxyprotocol }),
          ...(http && { http }),
          health_check: healthCheckOf(desired, nodePort),
        },
  );
}

/** The ports that cannot be served, as problems. */
export function serviceProblems({ ports }: Desired): readonly ProviderProblem[] {
  const bare = ports.filter(({ protocol, nodePort }) => protocol === "TCP" && nodePort === undefined);
  return bare.map(({ port }) => {
    const text = `Port ${port} has no node port, to which the load balancers of Hetzner forward. It is neither created nor changed. Remove allocateLoadBalancerNodePorts: false from the Service.`;
    return warningProblem("UnsupportedByCloud", text);
  });
}

/** The body of a request that creates the port. */
export function completeService({ health_check, proxyprotocol = false, ...rest }: ServiceSpec): ServiceSpec {
  const { http } = health_check;
  return {
    ...rest,
    proxyprotocol,
    health_check: {
      ...healthCheckDefaults,
      ...health_check,
      ...(http && { http: { ...httpCheckDefaults, ...http } }),
    },
  };
}

/** Includes port 80 if a redirect listens on it. */
export const portsOf = ({
  listen_port,
  http,
}: Pick<ApiService, "listen_port" | "http">): readonly number[] =>
  http?.redirect_http === true ? [listen_port, 80] : [listen_port];

export function isSameService(spec: ServiceSpec, observed: ApiService): boolean {
  const { health_check } = observed;
  // Older versions of the Go manager may have written this.
  const isTls = health_check.protocol === "https";
  const check = isTls
    ? { ...health_check, protocol: "http", http: { ...health_check.http, tls: true } }
    : health_check;
  return hasAll({ ...observed, health_check: check }, spec);
}

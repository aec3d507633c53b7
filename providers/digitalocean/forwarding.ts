// The forwarding rules and the health check that a Service requests. Pure.

import type { BalancerPort, Problem } from "#ccm";
import { type Annotations, annotation, type Desired } from "./balancer.ts";
import type { ApiForwardingRule, ApiHealthCheck } from "./resources.ts";

type Name = keyof Annotations & string;

function invalid(names: readonly Name[], text: string): Problem {
  const listed = names.map(annotation).join(", ");
  const consequence = "Nothing of the load balancer is changed. Correct";
  return { severity: "error", reason: "InvalidAnnotation", text: `${text} ${consequence} ${listed}.` };
}

function warn(reason: Problem["reason"], text: string): Problem {
  return { severity: "warning", reason, text };
}

export interface Forwarding {
  readonly rules: readonly ApiForwardingRule[];
  readonly problems: readonly Problem[];
}

const supported = ({ ports }: Desired): readonly BalancerPort[] =>
  ports.filter(({ protocol }) => protocol !== "SCTP");

const terminating: readonly Name[] = [
  ...([
    "http-ports",
    "tls-ports",
    "http2-ports",
    "http3-port",
    "certificate-id",
    "certificate-name",
  ] as const),
  ...(["tls-passthrough", "protocol"] as const),
];

/** Packets are passed on as they are: to the port of the Service, which kube-proxy accepts for the address of the load balancer. */
export function networkRules(desired: Desired): Forwarding {
  const { settings } = desired;
  const unused = terminating.filter(
    (name) => ![undefined, false, "tcp"].includes(settings[name] as undefined),
  );
  const text = (names: string) =>
    `${names} has no effect, because a load balancer of type REGIONAL_NETWORK does not terminate connections. Remove it, or recreate the Service with ${annotation("type")}: REGIONAL.`;
  return {
    rules: supported(desired).map(({ protocol, port }) => {
      const name = protocol === "UDP" ? "udp" : "tcp";
      return { entry_protocol: name, entry_port: port, target_protocol: name, target_port: port };
    }),
    problems: unused.map((name) => warn("InvalidAnnotation", text(annotation(name)))),
  };
}

const secureProtocols = ["https", "http2", "http3"];

/** The protocol of each port: later lists take precedence over the default, and UDP over all of them. */
function protocolsOf({ settings, ports }: Desired, isSecure: boolean): ReadonlyMap<BalancerPort, string> {
  const http2 = settings["http2-ports"] ?? [];
  const tls = settings["tls-ports"] ?? (isSecure && !http2.includes(443) ? [443] : []);
  const named = new Map([
    ...(settings["http-ports"] ?? []).map((port) => [port, "http"] as const),
    ...tls.map((port) => [port, "https"] as const),
    ...http2.map((port) => [port, "http2"] as const),
  ]);
  return new Map(
    ports.flatMap((one) => {
      if (one.protocol === "SCTP") return [];
      const protocol = one.protocol === "UDP" ? "udp" : (named.get(one.port) ?? settings.protocol);
      return [[one, protocol] as const];
    }),
  );
}

/** `certificate`: its id, if the Service has one. */
export function terminatingRules(desired: Desired, certificate: string | undefined): Forwarding {
  const { settings } = desired;
  const passthrough = settings["tls-passthrough"];
  const problems: Problem[] = [];
  const lists = ["http-ports", "tls-ports", "http2-ports"] as const;
  const all = lists.flatMap((name) => settings[name] ?? []);
  const repeated = [...new Set(all.filter((port, index) => all.indexOf(port) !== index))];
  if (repeated.length > 0) problems.push(invalid(lists, `Port ${repeated.join(", ")} is in several lists.`));
  const secure = (
    port: number,
    protocol: string,
  ): Pick<ApiForwardingRule, "certificate_id" | "tls_passthrough"> => {
    const needs = protocol === "http3" ? "a certificate" : "either a certificate or tls-passthrough";
    if (certificate !== undefined && !passthrough) return { certificate_id: certificate };
    if (certificate === undefined && passthrough && protocol !== "http3") return { tls_passthrough: true };
    const has = certificate === undefined ? (passthrough ? "tls-passthrough" : "none of them") : "both";
    problems.push(
      invalid(
        ["certificate-id", "certificate-name", "tls-passthrough"],
        `Port ${port} has the protocol ${protocol}, which needs ${needs}; the Service has ${has}.`,
      ),
    );
    return {};
  };
  const rule = (port: number, nodePort: number | undefined, protocol: string): ApiForwardingRule => {
    if (nodePort === undefined) {
      const text = `Port ${port} has no node port, to which load balancers of type REGIONAL forward. Nothing of the load balancer is changed. Remove allocateLoadBalancerNodePorts: false from the Service.`;
      problems.push({ severity: "error", reason: "UnsupportedByCloud", text });
    }
    const tls = secureProtocols.includes(protocol) ? secure(port, protocol) : {};
    const target = tls.certificate_id === undefined ? protocol : "http";
    return {
      entry_protocol: protocol,
      entry_port: port,
      target_protocol: target,
      target_port: nodePort ?? 0,
      ...tls,
    };
  };
  const isSecure = certificate !== undefined || passthrough;
  const rules = [...protocolsOf(desired, isSecure)].map(([{ port, nodePort }, protocol]) =>
    rule(port, nodePort, protocol),
  );
  const wanted = settings["http3-port"];
  const http3 = desired.ports.find(({ port }) => port === wanted);
  if (wanted !== undefined && http3 === undefined) {
    const text = `${annotation("http3-port")} is ${wanted}, which is no port of the Service, so it has no effect. Correct it.`;
    problems.push(warn("InvalidAnnotation", text));
  }
  const last = http3 === undefined ? [] : [rule(http3.port, http3.nodePort, "http3")];
  return { rules: [...rules, ...last], problems };
}

const kubeProxyHealthPort = 10256;
const overridden = ["healthcheck-port", "healthcheck-path", "healthcheck-protocol"] as const;

/** What is checked: kube-proxy, the port for `externalTrafficPolicy: Local`, or with the override a port of the Service. */
function checkedOf(
  desired: Desired,
): Pick<ApiHealthCheck, "protocol" | "port" | "path" | "proxy_protocol"> | Problem {
  const { settings, healthCheckNodePort } = desired;
  if (settings["override-health-check"] === undefined) {
    const port = healthCheckNodePort ?? kubeProxyHealthPort;
    // None of them understands the PROXY protocol.
    return { protocol: "http", port, path: "/healthz", proxy_protocol: false };
  }
  const { "healthcheck-port": wanted, "healthcheck-path": path } = settings;
  const { nodePort } =
    desired.ports.find(({ port, protocol }) => protocol === "TCP" && (wanted ?? port) === port) ?? {};
  if (nodePort === undefined) {
    const which = wanted === undefined ? "no TCP port" : `no TCP port ${wanted}`;
    return invalid(["healthcheck-port"], `The Service has ${which} with a node port that can be checked.`);
  }
  const protocol = settings["healthcheck-protocol"] ?? (path === undefined ? "tcp" : "http");
  return { protocol, port: nodePort, ...(path !== undefined && { path }) };
}

export function healthCheckOf(desired: Desired): {
  readonly check?: ApiHealthCheck;
  readonly problems: readonly Problem[];
} {
  const { settings } = desired;
  const checked = checkedOf(desired);
  if ("severity" in checked) return { problems: [checked] };
  const isOverridden = settings["override-health-check"] !== undefined;
  const unused = overridden.filter((name) => !isOverridden && settings[name] !== undefined);
  const check = {
    ...checked,
    check_interval_seconds: settings["healthcheck-check-interval-seconds"],
    response_timeout_seconds: settings["healthcheck-response-timeout-seconds"],
    unhealthy_threshold: settings["healthcheck-unhealthy-threshold"],
    healthy_threshold: settings["healthcheck-healthy-threshold"],
  };
  const text = (name: Name) =>
    `${annotation(name)} has no effect without ${annotation("override-health-check")}. Set that, or remove it.`;
  return { check, problems: unused.map((name) => warn("InvalidAnnotation", text(name))) };
}

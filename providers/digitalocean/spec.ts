// What a load balancer is to be, as the API describes it: its forwarding rules, its health check and everything else. Pure.

import {
  type BalancerPort,
  type DesiredWithoutTargets,
  errorProblem,
  type Problem,
  warningProblem,
} from "#ccm";
import { keyOf, type Name } from "./annotations.ts";
import { type Annotations, type Desired, typeOf } from "./balancer.ts";
import type { ApiRule } from "./resources.ts";
import type { Settings } from "./settings.ts";

function invalid(names: readonly [Name, ...Name[]], text: string): Problem {
  const advice = `Nothing of the load balancer is changed. Correct ${names.map(keyOf).join(", ")}.`;
  return { ...errorProblem("InvalidAnnotation", `${text} ${advice}`), key: keyOf(names[0]) };
}

const ineffective = (name: Name, why: string): Problem =>
  warningProblem("InvalidAnnotation", `${keyOf(name)} ${why}`);

type Member = DesiredWithoutTargets<Annotations>;

interface Forwarding {
  readonly rules: readonly ApiRule[];
  readonly problems: readonly Problem[];
}

const lists = ["http-ports", "tls-ports", "http2-ports"] as const;
const certificates = ["certificate-id", "certificate-name", "tls-passthrough"] as const;

/** Packets are passed on as they are: to the port of the Service, which kube-proxy accepts for the address of the load balancer. */
function passThroughRules({ settings, ports }: Member): Forwarding {
  const terminating = [...lists, ...certificates, "http3-port", "protocol"] as const;
  const unused = terminating.filter((name) => !["", "false", "tcp"].includes(String(settings[name] ?? "")));
  const why = `has no effect, because a load balancer of type REGIONAL_NETWORK does not terminate connections. Remove it, or recreate the Service with ${keyOf("type")}: REGIONAL.`;
  const rules = ports.flatMap(({ protocol, port }) => {
    const name = protocol.toLowerCase();
    const rule = { entry_protocol: name, entry_port: port, target_protocol: name, target_port: port };
    return protocol === "SCTP" ? [] : [rule];
  });
  return { rules, problems: unused.map((name) => ineffective(name, why)) };
}

/** The protocol of a port: a list takes precedence over the default, and UDP over both. */
function protocolOf({ port, protocol }: BalancerPort, { settings }: Member, isSecure: boolean): string {
  const http2 = settings["http2-ports"] ?? [];
  const tls = settings["tls-ports"] ?? (isSecure && !http2.includes(443) ? [443] : []);
  if (protocol === "UDP") return "udp";
  if (http2.includes(port)) return "http2";
  if (tls.includes(port)) return "https";
  return settings["http-ports"]?.includes(port) === true ? "http" : settings.protocol;
}

/** `certificate`: its id, if the Service has one. */
function terminatingRules(desired: Member, certificate: string | undefined): Forwarding {
  const { settings, ports } = desired;
  const passthrough = settings["tls-passthrough"];
  const problems: Problem[] = [];
  const all = lists.flatMap((name) => settings[name] ?? []);
  const repeated = all.filter((port, index) => all.indexOf(port) !== index);
  if (repeated.length > 0) problems.push(invalid(lists, `Port ${repeated.join(", ")} is in several lists.`));
  const tlsOf = (port: number, protocol: string): Pick<ApiRule, "certificate_id" | "tls_passthrough"> => {
    if (!["https", "http2", "http3"].includes(protocol)) return {};
    if (certificate !== undefined && !passthrough) return { certificate_id: certificate };
    if (certificate === undefined && passthrough && protocol !== "http3") return { tls_passthrough: true };
    const needs = protocol === "http3" ? "a certificate" : "either a certificate or tls-passthrough";
    const has = certificate !== undefined ? "both" : passthrough ? "tls-passthrough" : "none of them";
    const text = `Port ${port} has the protocol ${protocol}, which needs ${needs}; the Service has ${has}.`;
    problems.push(invalid(certificates, text));
    return {};
  };
  const ruleOf = ({ port, nodePort }: BalancerPort, protocol: string): ApiRule => {
    const text = `Port ${port} has no node port, to which load balancers of type REGIONAL forward. Nothing of the load balancer is changed. Remove allocateLoadBalancerNodePorts: false from the Service.`;
    if (nodePort === undefined) problems.push(errorProblem("UnsupportedByCloud", text));
    const tls = tlsOf(port, protocol);
    const target = tls.certificate_id === undefined ? protocol : "http";
    const entry = { entry_protocol: protocol, entry_port: port };
    return { ...entry, target_protocol: target, target_port: nodePort ?? 0, ...tls };
  };
  const isSecure = certificate !== undefined || passthrough;
  const supported = ports.filter(({ protocol }) => protocol !== "SCTP");
  const rules = supported.map((one) => ruleOf(one, protocolOf(one, desired, isSecure)));
  const wanted = settings["http3-port"];
  const http3 = supported.find(({ port }) => port === wanted);
  if (http3 !== undefined) return { rules: [...rules, ruleOf(http3, "http3")], problems };
  const text = `is ${wanted}, which is no port of the Service, so it has no effect. Correct it.`;
  if (wanted !== undefined) problems.push(ineffective("http3-port", text));
  return { rules, problems };
}

export const kubeProxyHealthPort = 10256;
const overridden = ["healthcheck-port", "healthcheck-path", "healthcheck-protocol"] as const;

/** What is checked: kube-proxy, the port for `externalTrafficPolicy: Local`, or with the override a port of the Service. */
function healthCheckOf(desired: Member): { readonly check: object; readonly problems: readonly Problem[] } {
  const { settings, healthCheckNodePort = kubeProxyHealthPort, ports } = desired;
  const { "healthcheck-port": wanted, "healthcheck-path": path, "healthcheck-protocol": protocol } = settings;
  const times = {
    check_interval_seconds: settings["healthcheck-check-interval-seconds"],
    response_timeout_seconds: settings["healthcheck-response-timeout-seconds"],
    unhealthy_threshold: settings["healthcheck-unhealthy-threshold"],
    healthy_threshold: settings["healthcheck-healthy-threshold"],
  };
  if (settings["override-health-check"] === undefined) {
    const unused = overridden.filter((name) => settings[name] !== undefined);
    const why = `has no effect without ${keyOf("override-health-check")}. Set that, or remove it.`;
    // None of what is checked understands the PROXY protocol.
    const kubeProxy = { protocol: "http", port: healthCheckNodePort, path: "/healthz" };
    const check = { ...kubeProxy, proxy_protocol: false, ...times };
    return { check, problems: unused.map((name) => ineffective(name, why)) };
  }
  const checked = ports.find((one) => one.protocol === "TCP" && (wanted ?? one.port) === one.port);
  const which = wanted === undefined ? "no TCP port" : `no TCP port ${wanted}`;
  const text = `The Service has ${which} with a node port that can be checked.`;
  if (checked?.nodePort === undefined) return { check: {}, problems: [invalid(["healthcheck-port"], text)] };
  const own = protocol ?? (path === undefined ? "tcp" : "http");
  const served = { protocol: own, port: checked.nodePort, ...(own !== "tcp" && { path: path ?? "/" }) };
  return { check: { ...served, ...times }, problems: [] };
}

export interface Spec {
  readonly name: string;
  readonly droplet_ids: readonly number[];
  readonly [member: string]: unknown;
}

function conflicts({ settings }: Member): readonly Problem[] {
  const { "size-slug": size, "size-unit": unit = 0, "sticky-sessions-type": type, network } = settings;
  const { "sticky-sessions-cookie-name": cookie, "sticky-sessions-cookie-ttl": ttl } = settings;
  const problems: Problem[] = [];
  if (network === "INTERNAL" && settings["network-stack"] === "DUALSTACK")
    problems.push(invalid(["network-stack", "network"], "Internal load balancers have no IPv6."));
  if (size !== undefined && unit > 0)
    problems.push(invalid(["size-slug", "size-unit"], "The size is set twice."));
  const names = ["sticky-sessions-cookie-name", "sticky-sessions-cookie-ttl"] as const;
  if (type === "cookies" && (cookie === undefined || ttl === undefined))
    problems.push(invalid(names, "Sticky sessions need a name and a lifetime of the cookie."));
  return problems;
}

/** What contradicts itself whatever the cloud has. Without an annotation, the type is known to the manager only. */
export function contradictions(service: Member): readonly Problem[] {
  const { settings, ports } = service;
  const { type, "certificate-id": id, "certificate-name": name } = settings;
  const member = {
    ...service,
    ports: ports.map((port) => ({ ...port, nodePort: port.nodePort ?? port.port })),
  };
  const rules = type === undefined ? [] : rulesOf(member, type, id ?? name).problems;
  return [...rules, ...healthCheckOf(member).problems, ...conflicts(member)];
}

const rulesOf = (member: Member, type: string, certificate: string | undefined): Forwarding =>
  type === "REGIONAL" ? terminatingRules(member, certificate) : passThroughRules(member);

/** With an error among the problems, the specification is not used. */
export function specOf(
  desired: Desired,
  operator: Settings,
  certificate: string | undefined,
): { readonly spec: Spec; readonly problems: readonly Problem[] } {
  const { settings, sourceRanges, targets } = desired;
  const { rules, problems } = rulesOf(desired, typeOf(desired, operator), certificate);
  const health = healthCheckOf(desired);
  const { "size-slug": size, "size-unit": unit = 0, "sticky-sessions-type": type } = settings;
  const cookie = {
    cookie_name: settings["sticky-sessions-cookie-name"],
    cookie_ttl_seconds: settings["sticky-sessions-cookie-ttl"],
  };
  const spec = {
    name: settings.name ?? desired.defaultName,
    ...(size === undefined ? { size_unit: Math.max(unit, 1) } : { size }),
    forwarding_rules: rules,
    health_check: health.check,
    sticky_sessions: { type, ...(type === "cookies" && cookie) },
    droplet_ids: targets.flatMap(({ machine }) => (machine === undefined ? [] : Number(machine.key))),
    redirect_http_to_https: settings["redirect-http-to-https"],
    enable_proxy_protocol: settings["enable-proxy-protocol"],
    enable_backend_keepalive: settings["enable-backend-keepalive"],
    disable_lets_encrypt_dns_records: settings["disable-lets-encrypt-dns-records"],
    http_idle_timeout_seconds: settings["http-idle-timeout-seconds"],
    firewall: {
      allow: sourceRanges?.map((range) => `cidr:${range}`) ?? settings["allow-rules"] ?? [],
      deny: settings["deny-rules"] ?? [],
    },
  };
  return { spec, problems: [...problems, ...health.problems, ...conflicts(desired)] };
}

// The desired state of a load balancer in API terms: its forwarding rules, its health check and everything else. Pure.

import { type BalancerPort, errorProblem, type ProviderProblem } from "#ccm";
import { type Desired, typeOf } from "./balancer.ts";
import { conflictsIn, invalid, isTls, lists, type Member, ofTLS, unusedWith } from "./conflicts.ts";
import type { ApiRule } from "./resources.ts";
import type { Settings } from "./settings.ts";

interface Forwarding {
  readonly rules: readonly ApiRule[];
  readonly problems: readonly ProviderProblem[];
}

/** Packets are passed on unchanged to the port of the Service, which kube-proxy accepts for the address of the load balancer. */
function passThroughRules({ ports }: Member): Forwarding {
  const supported = ports.filter(({ protocol }) => protocol !== "SCTP");
  const rules = supported.map(({ protocol, port }) => {
    const name = protocol.toLowerCase();
    return { entry_protocol: name, entry_port: port, target_protocol: name, target_port: port };
  });
  return { rules, problems: [] };
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

/** `certificate`: the certificate id, if the Service has one. */
function terminatingRules(desired: Member, certificate: string | undefined): Forwarding {
  const { settings, ports } = desired;
  const passthrough = settings["tls-passthrough"];
  const problems: ProviderProblem[] = [];
  const listed = lists.flatMap((name) => settings[name] ?? []);
  const repeated = listed.filter((port, index) => listed.indexOf(port) !== index);
  if (repeated.length > 0) problems.push(invalid(lists, `Port ${repeated.join(", ")} is in several lists.`));
  const tlsOf = (port: number, protocol: string): Pick<ApiRule, "certificate_id" | "tls_passthrough"> => {
    if (!isTls(protocol)) return {};
    if (certificate !== undefined && !passthrough) return { certificate_id: certificate };
    if (certificate === undefined && passthrough && protocol !== "http3") return { tls_passthrough: true };
    const needs = protocol === "http3" ? "a certificate" : "either a certificate or tls-passthrough";
    const has = certificate !== undefined ? "both" : passthrough ? "tls-passthrough" : "none of them";
    const text = `Port ${port} has the protocol ${protocol}, which needs ${needs}; the Service has ${has}.`;
    problems.push(invalid(ofTLS, text));
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
  const own = supported.map((one) => ruleOf(one, protocolOf(one, desired, isSecure)));
  const wanted = settings["http3-port"];
  const http3 = supported.find(({ port }) => port === wanted);
  const all = http3 === undefined ? own : [...own, ruleOf(http3, "http3")];
  const protocols = all.map((rule) => rule.entry_protocol);
  const needed = "The protocol http3 needs a port with https or http2.";
  if (protocols.includes("http3") && !protocols.some((one) => one === "https" || one === "http2"))
    problems.push(invalid(["http3-port", "protocol", "tls-ports"], needed));
  return { rules: all, problems: [...problems, ...unusedWith(all, desired)] };
}

export const kubeProxyHealthPort = 10256;

/** The health check target: kube-proxy, the port for `externalTrafficPolicy: Local`, or with the override a Service port. */
function healthCheckOf(desired: Member): {
  readonly check: object;
  readonly problems: readonly ProviderProblem[];
} {
  const { settings, healthCheckNodePort = kubeProxyHealthPort, ports } = desired;
  const { "healthcheck-port": wanted, "healthcheck-path": path, "healthcheck-protocol": protocol } = settings;
  const times = {
    check_interval_seconds: settings["healthcheck-check-interval-seconds"],
    response_timeout_seconds: settings["healthcheck-response-timeout-seconds"],
    unhealthy_threshold: settings["healthcheck-unhealthy-threshold"],
    healthy_threshold: settings["healthcheck-healthy-threshold"],
  };
  if (settings["override-health-check"] === undefined) {
    // No health check target supports the PROXY protocol.
    const kubeProxy = { protocol: "http", port: healthCheckNodePort, path: "/healthz" };
    return { check: { ...kubeProxy, proxy_protocol: false, ...times }, problems: [] };
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
  readonly forwarding_rules: readonly ApiRule[];
  readonly [member: string]: unknown;
}

/** Contradictions within the annotations, independent of the cloud. */
export function contradictions(service: Member): readonly ProviderProblem[] {
  const ports = service.ports.map((port) => ({ ...port, nodePort: port.nodePort ?? port.port }));
  const { type, "certificate-id": id, "certificate-name": name } = service.settings;
  return partsOf({ ...service, ports }, type, id ?? name).problems;
}

function partsOf(member: Member, type: string | undefined, certificate: string | undefined) {
  const { rules, problems } =
    type === "REGIONAL" ? terminatingRules(member, certificate) : passThroughRules(member);
  const health = healthCheckOf(member);
  return {
    rules,
    health_check: health.check,
    problems: [...problems, ...health.problems, ...conflictsIn(member)],
  };
}

/** With an error among the problems, the specification is not used. */
export function specOf(
  desired: Desired,
  operator: Settings,
  certificate: string | undefined,
): { readonly spec: Spec; readonly problems: readonly ProviderProblem[] } {
  const { settings, sourceRanges, targets } = desired;
  const { rules, health_check, problems } = partsOf(desired, typeOf(desired, operator), certificate);
  const { "size-slug": size, "size-unit": unit = 0, "sticky-sessions-type": type } = settings;
  const cookie = {
    cookie_name: settings["sticky-sessions-cookie-name"],
    cookie_ttl_seconds: settings["sticky-sessions-cookie-ttl"],
  };
  const spec = {
    name: settings.name ?? desired.defaultName,
    ...(size === undefined ? { size_unit: Math.max(unit, 1) } : { size }),
    forwarding_rules: rules,
    health_check,
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
  return { spec, problems };
}

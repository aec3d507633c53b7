// The desired listeners, pools, members and health monitors of a Service in Octavia's terms. Pure.

import {
  allAddresses,
  applicable,
  cidrFamily,
  errorProblem,
  type ProviderProblem,
  warningProblem,
} from "#ccm";
import { keyOf } from "./annotations.ts";
import type { Desired, featuresOf } from "./balancer.ts";
import { familyOf, memberAddress } from "./choices.ts";
import { partName } from "./names.ts";
import { reasons, type Settings } from "./settings.ts";

/** The desired Octavia objects for a port of the Service. */
export type PortSpec = ReturnType<typeof portSpec>;
export type MemberSpec = PortSpec["members"][number];
export type MonitorSpec = NonNullable<PortSpec["monitor"]>;

type Port = Desired["ports"][number];

export interface Wanted {
  readonly desired: Desired;
  readonly operator: Settings;
  readonly features: ReturnType<typeof featuresOf>;
  readonly mark: string;
  readonly memberSubnet: string | undefined;
}

/** An empty annotation counts as absent, whatever the default is. */
export const orDefault = (own: string | undefined, fallback: string | undefined): string | undefined =>
  (own ?? fallback) || undefined;

const certificateOf = ({ desired: { settings }, operator }: Wanted): string | undefined =>
  orDefault(settings["default-tls-container-ref"], operator["default-tls-container-ref"]);

/** Terminating TLS and HTTP, and the PROXY protocol, exist for TCP only. */
function listenerProtocol({ protocol }: Port, wanted: Wanted): string {
  const { settings } = wanted.desired;
  if (protocol !== "TCP") return protocol;
  if (certificateOf(wanted) !== undefined) return "TERMINATED_HTTPS";
  return settings["x-forwarded-for"] ? "HTTP" : "TCP";
}

function listenerSpec(port: Port, index: number, wanted: Wanted) {
  const { desired, features, mark } = wanted;
  const { settings, sourceRanges = allAddresses([familyOf(desired)]) } = desired;
  const protocol = listenerProtocol(port, wanted);
  return {
    name: partName("listener", index, mark),
    protocol,
    protocol_port: port.port,
    connection_limit: settings["connection-limit"],
    ...(settings["x-forwarded-for"] &&
      port.protocol === "TCP" && { insert_headers: { "X-Forwarded-For": "true" } }),
    ...(protocol === "TERMINATED_HTTPS" && { default_tls_container_ref: certificateOf(wanted) }),
    ...(features.timeouts && {
      timeout_client_data: settings["timeout-client-data"],
      timeout_member_connect: settings["timeout-member-connect"],
      timeout_member_data: settings["timeout-member-data"],
      timeout_tcp_inspect: settings["timeout-tcp-inspect"],
    }),
    // Octavia accepts only ranges of the virtual IP's address family.
    ...(features.ranges && {
      allowed_cidrs: sourceRanges.filter((range) => cidrFamily(range) === familyOf(desired)),
    }),
    ...(features.tags && { tags: [mark] }),
  };
}

const proxyProtocols: Readonly<Record<string, string>> = { true: "PROXY", v1: "PROXY", v2: "PROXYV2" };

function methodOf({ settings }: Pick<Desired, "settings">, operator: Settings): string {
  const ofProvider = operator["lb-provider"] === "ovn" ? "SOURCE_IP_PORT" : "ROUND_ROBIN";
  return settings["lb-method"] ?? operator["lb-method"] ?? ofProvider;
}

function poolSpec(port: Port, index: number, wanted: Wanted) {
  const { desired, operator, mark } = wanted;
  const listener = listenerProtocol(port, wanted);
  const plain = listener === "TERMINATED_HTTPS" ? "HTTP" : listener;
  const proxy = port.protocol === "TCP" ? proxyProtocols[desired.settings["proxy-protocol"]] : undefined;
  return {
    name: partName("pool", index, mark),
    protocol: proxy ?? plain,
    lb_algorithm: methodOf(desired, operator),
    session_persistence: desired.sessionAffinitySeconds === undefined ? null : { type: "SOURCE_IP" },
  };
}

const isChecked = ({ desired: { settings }, operator }: Wanted): boolean =>
  settings["enable-health-monitor"] ?? operator["create-monitor"];

/** The port of kube-proxy's health check, if it is used for members. */
function healthPort({ protocol }: Port, wanted: Wanted): number | undefined {
  const { desired, features } = wanted;
  const canUseHTTP = features.http && (protocol !== "UDP" || features.httpOnUDP);
  return isChecked(wanted) && canUseHTTP && desired.externalTrafficPolicy === "Local"
    ? desired.healthCheckNodePort
    : undefined;
}

function memberSpecs(port: Port, wanted: Wanted) {
  const { desired, memberSubnet } = wanted;
  const monitor = healthPort(port, wanted);
  return desired.targets.flatMap((target) => {
    const address = memberAddress(target, familyOf(desired));
    if (address === undefined || port.nodePort === undefined) return [];
    return {
      name: target.node,
      address,
      protocol_port: port.nodePort,
      // Without a value, the weight becomes 1 again.
      ...(target.draining && { weight: 0 }),
      ...(memberSubnet !== undefined && { subnet_id: memberSubnet }),
      ...(monitor !== undefined && { monitor_port: monitor }),
    };
  });
}

const inSeconds = (milliseconds: number): number => Math.max(1, Math.trunc(milliseconds / 1000));

function monitorSpec(port: Port, index: number, wanted: Wanted) {
  const { desired, operator, mark } = wanted;
  const { settings } = desired;
  if (!isChecked(wanted)) return undefined;
  const http = { type: "HTTP", url_path: "/healthz", http_method: "GET", expected_codes: "200" };
  const plain = { type: port.protocol === "UDP" ? "UDP-CONNECT" : port.protocol };
  return {
    name: partName("monitor", index, mark),
    ...(healthPort(port, wanted) === undefined ? plain : http),
    delay: settings["health-monitor-delay"] ?? inSeconds(operator["monitor-delay"]),
    timeout: settings["health-monitor-timeout"] ?? inSeconds(operator["monitor-timeout"]),
    max_retries: settings["health-monitor-max-retries"] ?? operator["monitor-max-retries"],
    max_retries_down: settings["health-monitor-max-retries-down"] ?? operator["monitor-max-retries-down"],
  };
}

const kept = "Nothing of the load balancer is changed.";

/** Contradictions within a Service, which `lint` reports. */
export function contradictions({ settings }: Pick<Desired, "settings">): readonly ProviderProblem[] {
  if (settings["proxy-protocol"] === "false" || !settings["x-forwarded-for"]) return [];
  const text = `${keyOf("proxy-protocol")} and ${keyOf("x-forwarded-for")} exclude each other. ${kept} Remove one of them.`;
  return [errorProblem("InvalidAnnotation", text, keyOf("proxy-protocol"))];
}

function problemsOf(wanted: Wanted): readonly ProviderProblem[] {
  const { desired, operator, features } = wanted;
  const { settings, sourceRanges, ports, healthCheckNodePort, targetsHaveEndpoints } = desired;
  const { "lb-provider": provider, "manage-security-groups": hasGroups } = operator;
  const [family, isOVN] = [familyOf(desired), provider === "ovn"];
  const open = ports.filter(({ nodePort }) => nodePort === undefined).map(({ port }) => port);
  const isUnreachable = sourceRanges?.every((range) => cidrFamily(range) !== family) === true;
  const unreachable = `All ranges of clients are of a different family than the virtual IP, which is ${family}. ${kept} Correct spec.loadBalancerSourceRanges.`;
  const noNodePort = `Port ${open.join(", ")} has no node port, to which Octavia forwards. ${kept} Remove allocateLoadBalancerNodePorts: false from the Service.`;
  const noProxy = `The Octavia provider ovn has no PROXY protocol. ${kept} Remove ${keyOf("proxy-protocol")}.`;
  const noMethod = `The Octavia provider ovn has the method SOURCE_IP_PORT only. ${kept} Remove ${keyOf("lb-method")}.`;
  const ignored = `The Octavia provider ${provider} cannot restrict clients, so all can connect. Remove spec.loadBalancerSourceRanges, or use another provider.`;
  const isIgnored = !features.ranges && sourceRanges !== undefined && !(isOVN && hasGroups);
  const isOther = methodOf(desired, operator) !== "SOURCE_IP_PORT";
  const dropsTraffic =
    healthCheckNodePort !== undefined && targetsHaveEndpoints !== true && !isChecked(wanted);
  const unchecked = `externalTrafficPolicy is Local, and members are not checked: Nodes without a pod of the Service get traffic, and drop it. Set ${keyOf("enable-health-monitor")} to true, or fairlead.dev/target-policy to endpoints.`;
  const unsupported = (text: string) => errorProblem("UnsupportedByCloud", text);
  return applicable(
    ...contradictions(desired),
    features.ranges && isUnreachable && unsupported(unreachable),
    open.length > 0 && unsupported(noNodePort),
    isOVN && settings["proxy-protocol"] !== "false" && unsupported(noProxy),
    isOVN && isOther && unsupported(noMethod),
    dropsTraffic && warningProblem("UnsupportedByCloud", unchecked),
    isIgnored && warningProblem(reasons.LoadBalancerSourceRangesIgnored, ignored),
  );
}

function portSpec(port: Port, index: number, wanted: Wanted) {
  return {
    listener: listenerSpec(port, index, wanted),
    pool: poolSpec(port, index, wanted),
    members: memberSpecs(port, wanted),
    monitor: monitorSpec(port, index, wanted),
  };
}

export function specOf(wanted: Wanted): {
  readonly ports: readonly PortSpec[];
  readonly problems: readonly ProviderProblem[];
} {
  // The framework reports unsupported requests.
  const ports = wanted.desired.ports.map((port, index) => portSpec(port, index, wanted));
  return { ports, problems: problemsOf(wanted) };
}

// The configuration of a load balancer: its ports, port rules, certificates and haproxy.cfg, as desired and as observed. Pure.

import { applicable, type Cidr, errorProblem, type ProviderProblem, parseCidr, warningProblem } from "#ccm";
import { type Protocol, type Protocols, protocolNames } from "./annotations.ts";
import type { Desired } from "./balancer.ts";
import type { ApiCertificate, LbConfig, PortRule } from "./resources.ts";

/** A port of the Service that Rancher can forward. */
interface Port {
  readonly port: number;
  readonly nodePort: number;
  readonly protocol: Protocol;
}

export function portsOf({ ports, settings }: Desired): readonly Port[] {
  const chosen = settings["lb-protocol"];
  return ports.flatMap(({ port, nodePort, protocol }) => {
    if (nodePort === undefined || protocol === "SCTP") return [];
    const own = chosen?.byPort[String(port)] ?? chosen?.all;
    return { port, nodePort, protocol: protocol === "UDP" ? "udp" : (own ?? "tcp") } as const;
  });
}

/** Published ports in the form of the API: on all addresses of a host, or on one of them. */
export function publishedPorts(desired: Desired, address: string | undefined): readonly string[] {
  const prefix = address === undefined ? "" : `${address}:`;
  return portsOf(desired)
    .map(({ port, protocol }) => `${prefix}${port}:${port}/${protocol === "udp" ? "udp" : "tcp"}`)
    .toSorted();
}

const onlyIPv6 =
  "The Service has only IPv6, and Rancher's load balancers have only IPv4 addresses. Nothing is changed. Add IPv4 to its ipFamilies.";
const reserved =
  "Rancher uses port 42 of its load balancers for their health check. Nothing is changed. Use another port.";
const noCertificate =
  "A port with https or tls needs a certificate. Nothing is changed. Set service.rancher.io/lb-default-certificate.";

/** The problems with the annotations of a Service. Nothing of the Service is changed until an error is corrected. */
export function portProblems(desired: Desired): readonly ProviderProblem[] {
  const { ports, settings, sourceRanges, families } = desired;
  const without = ports.filter(({ nodePort }) => nodePort === undefined).map(({ port }) => port);
  const noNodePort = `Rancher forwards to node ports, and these ports have none: ${without.join(", ")}. They are left out. Remove allocateLoadBalancerNodePorts: false.`;
  const named = Object.keys(settings["lb-protocol"]?.byPort ?? {});
  const others = named.filter((name) => ports.every(({ port }) => String(port) !== name));
  const all = portsOf(desired);
  const isSecure = all.some(({ protocol }) => protocol === "https" || protocol === "tls");
  const udp = all.filter(({ protocol }) => protocol === "udp").map(({ port }) => port);
  const notFiltered = `Source ranges have no effect on the UDP ports ${udp.join(", ")}: haproxy does not forward them. Use a firewall.`;
  return applicable(
    !families.includes("IPv4") && errorProblem("UnsupportedByCloud", onlyIPv6),
    without.length > 0 && warningProblem("UnsupportedByCloud", noNodePort),
    ...others.map((name) => {
      const text = `service.rancher.io/lb-protocol names port ${name}, which the Service does not have. It is ignored.`;
      return warningProblem("InvalidAnnotation", text);
    }),
    ports.some(({ port }) => port === 42) && errorProblem("UnsupportedByCloud", reserved),
    isSecure && !needsCertificates(desired) && errorProblem("InvalidAnnotation", noCertificate),
    udp.length > 0 && sourceRanges !== undefined && warningProblem("UnsupportedByCloud", notFiltered),
  );
}

export interface Certificates {
  readonly ids: readonly string[];
  readonly defaultID: string | undefined;
  readonly problems: readonly ProviderProblem[];
}

export const needsCertificates = ({ settings }: Desired): boolean =>
  settings["lb-certificates"] !== undefined || settings["lb-default-certificate"] !== undefined;

export function chooseCertificates({ settings }: Desired, known: readonly ApiCertificate[]): Certificates {
  const missing: string[] = [];
  const idOf = (name: string): readonly string[] => {
    const found = known.filter((one) => one.id === name || one.name === name);
    if (found.length !== 1) missing.push(name);
    return found.slice(0, 1).map(({ id }) => id);
  };
  const ids = (settings["lb-certificates"] ?? []).flatMap(idOf).toSorted();
  const [defaultID] = [settings["lb-default-certificate"] ?? []].flat().flatMap(idOf);
  const named = missing.map((name) => JSON.stringify(name)).join(", ");
  const what = missing.length === 1 ? `The certificate ${named} does` : `The certificates ${named} do`;
  const text = `${what} not exist in this environment, or several have the name. Nothing is changed. Upload what is missing, or use ids.`;
  return {
    ids,
    defaultID,
    problems: applicable(missing.length > 0 && errorProblem("MissingCloudObject", text)),
  };
}

/** The name of a port's backend, if the port needs its own section. */
function backendName({ settings, sessionAffinitySeconds }: Desired, port: number): string | null {
  return settings["lb-proxy-protocol"] || sessionAffinitySeconds !== undefined ? `port-${port}` : null;
}

/** All ranges are on a single line, because the configuration is read from it again. */
const rangesLine = /^ {4}acl fairlead_ranges src (.+)$/m;

function haproxyConfig(desired: Desired): string {
  const { settings, sourceRanges, sessionAffinitySeconds } = desired;
  const sections = portsOf(desired).flatMap(({ port, protocol }) => {
    if (protocol === "udp") return [];
    const frontend =
      sourceRanges === undefined
        ? []
        : [
            `frontend ${port}`,
            `    acl fairlead_ranges src ${sourceRanges.join(" ")}`,
            "    tcp-request connection reject if !fairlead_ranges",
          ];
    const name = backendName(desired, port);
    const affinity =
      sessionAffinitySeconds === undefined
        ? []
        : [`    stick-table type ip size 200k expire ${sessionAffinitySeconds}s`, "    stick on src"];
    const server = settings["lb-proxy-protocol"] ? ["    server $IP send-proxy"] : [];
    return [...frontend, ...(name === null ? [] : [`backend ${name}`, ...affinity, ...server])];
  });
  const own = settings["lb-haproxy-config"];
  return [...sections, ...(own === undefined ? [] : [own])].join("\n");
}

export function rangesIn(config: string | null | undefined): readonly Cidr[] | "unspecified" {
  const [, text] = rangesLine.exec(config ?? "") ?? [];
  if (text === undefined) return "unspecified";
  return text.split(" ").flatMap((range) => parseCidr(range) ?? []);
}

export const sendsProxy = (config: string | null | undefined): boolean =>
  /^ {4}server \$IP send-proxy$/m.test(config ?? "");

/** Keeps a port and its protocol in the configuration while there are no targets. No service has this label. */
const noTargets = "fairlead.dev/no-targets=true";

/** Creates one rule for each external service. */
function rulesOf(
  rule: Pick<PortRule, "sourcePort" | "protocol" | "backendName">,
  targetPort: number | undefined,
  serviceIDs: readonly string[],
): readonly PortRule[] {
  if (serviceIDs.length === 0 || targetPort === undefined) return [{ ...rule, selector: noTargets }];
  return serviceIDs.map((serviceId) => ({ ...rule, targetPort, serviceId }));
}

export function lbConfigOf(
  desired: Desired,
  serviceIDs: readonly string[],
  { ids, defaultID }: Certificates,
): LbConfig {
  const cookie = desired.settings["lb-stickiness-cookie"];
  const ofCookie = { mode: "insert", indirect: true, nocache: true };
  const policy = cookie === undefined ? null : { name: cookie, cookie, ...ofCookie };
  return {
    portRules: portsOf(desired).flatMap(({ port, nodePort, protocol }) => {
      const rule = { sourcePort: port, protocol, backendName: backendName(desired, port) };
      return rulesOf(rule, nodePort, serviceIDs);
    }),
    certificateIds: ids,
    defaultCertificateId: defaultID ?? null,
    config: haproxyConfig(desired),
    stickinessPolicy: policy,
  };
}

/** The observed ports with the desired targets. */
export function retarget(observed: LbConfig, desired: Desired, serviceIDs: readonly string[]): LbConfig {
  const nodePorts = new Map(portsOf(desired).map(({ port, nodePort }) => [port, nodePort]));
  const ports = new Map(observed.portRules?.map((rule) => [`${rule.sourcePort} ${rule.protocol}`, rule]));
  const portRules = [...ports.values()].flatMap(
    ({ sourcePort, targetPort, protocol = null, backendName = null }) =>
      rulesOf({ sourcePort, protocol, backendName }, targetPort ?? nodePorts.get(sourcePort), serviceIDs),
  );
  return { ...observed, portRules };
}

/** Only values that Fairlead sets are compared: the server adds fields, and the order of rules has no meaning. */
function rulesIn({ portRules }: LbConfig): string {
  const texts = (portRules ?? []).map((rule) => {
    const { sourcePort, targetPort, protocol, serviceId, selector, hostname, path, backendName } = rule;
    const values = [
      sourcePort,
      targetPort,
      protocol ?? "http",
      serviceId,
      selector,
      hostname,
      path,
      backendName,
    ];
    return values.map((value) => value ?? "").join(" ");
  });
  return texts.toSorted().join("\n");
}

export const sameRules = (one: LbConfig, other: LbConfig): boolean => rulesIn(one) === rulesIn(other);

export function sameConfig(one: LbConfig, other: LbConfig): boolean {
  const [a, b] = [one, other].map((lbConfig) => {
    const { certificateIds, defaultCertificateId, config, stickinessPolicy } = lbConfig;
    const certificates = [(certificateIds ?? []).toSorted(), defaultCertificateId ?? ""];
    const rest = [...certificates, (config ?? "").trim(), stickinessPolicy?.cookie ?? ""];
    return JSON.stringify([rulesIn(lbConfig), rest]);
  });
  return a === b;
}

/** The protocols of the port rules, in the form of the annotation. */
export function protocolsOf(rules: readonly PortRule[]): Protocols | undefined {
  const byPort: Record<string, Protocol> = {};
  for (const { sourcePort, protocol } of rules) {
    const known = protocolNames.find((one) => one === (protocol ?? "http"));
    if (known !== undefined) byPort[String(sourcePort)] = known;
  }
  return Object.keys(byPort).length === 0 ? undefined : { byPort };
}

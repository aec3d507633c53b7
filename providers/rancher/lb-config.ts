// The configuration of a load balancer: port rules, certificates and haproxy.cfg, as desired and as observed. Pure.

import { applicable, type Cidr, errorProblem, type Problem, parseCidr, type Values } from "#ccm";
import { type Protocol, type Protocols, protocolNames, type Scale } from "./annotations.ts";
import type { Annotations, Desired, Observed } from "./balancer.ts";
import { portsOf } from "./ports.ts";
import type { ApiCertificate, ApiLoadBalancer, LbConfig, PortRule } from "./resources.ts";

export interface Certificates {
  readonly ids: readonly string[];
  readonly defaultID: string | undefined;
  readonly problems: readonly Problem[];
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

/** The name of the backend of a port, if the port needs its own section. */
export function backendName(
  { settings, sessionAffinitySeconds }: Pick<Desired, "settings" | "sessionAffinitySeconds">,
  port: number,
): string | undefined {
  return settings["lb-proxy-protocol"] || sessionAffinitySeconds !== undefined ? `port-${port}` : undefined;
}

/** One line for all ranges: the configuration is read back from it. */
const rangesLine = /^ {4}acl fairlead_ranges src (.+)$/m;

export function haproxyConfig(desired: Desired, ports: readonly number[]): string {
  const { settings, sourceRanges, sessionAffinitySeconds } = desired;
  const sections = ports.flatMap((port) => {
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
    return [...frontend, ...(name === undefined ? [] : [`backend ${name}`, ...affinity, ...server])];
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

/** Keeps a port and its protocol in the configuration while there is no target. No service has this label. */
const noTargets = "fairlead.dev/no-targets=true";

function rulesOf(desired: Desired, serviceIDs: readonly string[]): readonly PortRule[] {
  return portsOf(desired).flatMap(({ port, nodePort, protocol }): readonly PortRule[] => {
    const common = { sourcePort: port, protocol, backendName: backendName(desired, port) ?? null };
    if (serviceIDs.length === 0) return [{ ...common, selector: noTargets }];
    return serviceIDs.map((serviceId) => ({ ...common, targetPort: nodePort, serviceId }));
  });
}

export function lbConfigOf(
  desired: Desired,
  serviceIDs: readonly string[],
  { ids, defaultID }: Pick<Certificates, "ids" | "defaultID">,
): LbConfig {
  const ports = portsOf(desired);
  const cookie = desired.settings["lb-stickiness-cookie"];
  return {
    portRules: rulesOf(desired, serviceIDs),
    certificateIds: ids,
    defaultCertificateId: defaultID ?? null,
    config: haproxyConfig(
      desired,
      ports.filter(({ protocol }) => protocol !== "udp").map(({ port }) => port),
    ),
    stickinessPolicy:
      cookie === undefined ? null : { name: cookie, cookie, mode: "insert", indirect: true, nocache: true },
  };
}

/** The observed ports with the desired targets. */
export function retarget(observed: LbConfig, desired: Desired, { portRules }: LbConfig): LbConfig {
  const nodePorts = new Map(portsOf(desired).map(({ port, nodePort }) => [port, nodePort]));
  const ids = [...new Set(portRules?.flatMap(({ serviceId }) => serviceId ?? []))];
  const ports = new Map(observed.portRules?.map((rule) => [`${rule.sourcePort} ${rule.protocol}`, rule]));
  const rules = [...ports.values()].flatMap((rule): readonly PortRule[] => {
    const { sourcePort, protocol, backendName } = rule;
    const common = { sourcePort, protocol: protocol ?? null, backendName: backendName ?? null };
    const targetPort = rule.targetPort ?? nodePorts.get(sourcePort);
    if (ids.length === 0 || targetPort === undefined) return [{ ...common, selector: noTargets }];
    return ids.map((serviceId) => ({ ...common, targetPort, serviceId }));
  });
  return { ...observed, portRules: rules };
}

const textOfRule = (rule: PortRule): string =>
  [
    rule.sourcePort,
    rule.targetPort,
    rule.protocol ?? "http",
    rule.serviceId,
    rule.selector,
    rule.hostname,
    rule.path,
    rule.backendName,
  ]
    .map((value) => value ?? "")
    .join(" ");

export function sameRules(one: LbConfig, other: LbConfig): boolean {
  const [a = [], b = []] = [one, other].map(({ portRules }) => (portRules ?? []).map(textOfRule).toSorted());
  return a.join("\n") === b.join("\n");
}

export function sameConfig(desired: LbConfig, { lbConfig }: Pick<ApiLoadBalancer, "lbConfig">): boolean {
  const observed = lbConfig ?? {};
  const rest = ({ certificateIds, defaultCertificateId, config, stickinessPolicy }: LbConfig) =>
    JSON.stringify([
      (certificateIds ?? []).toSorted(),
      defaultCertificateId ?? "",
      (config ?? "").trim(),
      stickinessPolicy?.cookie ?? "",
    ]);
  return sameRules(desired, observed) && rest(desired) === rest(observed);
}

function protocolsOf(rules: readonly PortRule[]): Protocols | undefined {
  const byPort: Record<string, Protocol> = {};
  for (const { sourcePort, protocol } of rules) {
    const known = protocolNames.find((one) => one === (protocol ?? "http"));
    if (known !== undefined) byPort[String(sourcePort)] = known;
  }
  return Object.keys(byPort).length === 0 ? undefined : { byPort };
}

/** The annotations as an existing load balancer has them: an invalid annotation keeps this value. */
export function settingsOf({ balancer }: Observed): Partial<Values<Annotations>> {
  const { launchConfig, lbConfig, scale } = balancer;
  const labels = launchConfig?.labels ?? {};
  const observedScale: Scale = labels["io.rancher.scheduler.global"] === "true" ? "global" : (scale ?? 1);
  return {
    "lb-scale": observedScale,
    // Without the label, it runs on any host.
    "lb-host-selector": labels["io.rancher.scheduler.affinity:host_label"] ?? "",
    "lb-protocol": protocolsOf(lbConfig?.portRules ?? []),
    "lb-certificates": lbConfig?.certificateIds ?? undefined,
    "lb-default-certificate": lbConfig?.defaultCertificateId ?? undefined,
    "lb-proxy-protocol": sendsProxy(lbConfig?.config),
    "lb-stickiness-cookie": lbConfig?.stickinessPolicy?.cookie ?? undefined,
    "lb-image": launchConfig?.imageUuid ?? undefined,
  };
}

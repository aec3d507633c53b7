// The port rules and the other parts of a load balancer's configuration, as desired and as observed. Pure.

import type { Problem } from "#ccm";
import type { Protocol } from "../annotations.ts";
import type { ApiCertificate, ApiLoadBalancer, LbConfig, PortRule } from "../api/resources.ts";
import { backendName, haproxyConfig } from "./haproxy.ts";
import type { Desired } from "./model.ts";

/** A port of the Service that Rancher can forward. */
export interface Port {
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

/** As the API writes published ports. */
export const publishedPorts = (ports: readonly Port[]): readonly string[] =>
  ports.map(({ port, protocol }) => `${port}:${port}/${protocol === "udp" ? "udp" : "tcp"}`).toSorted();

/** What is wrong with the annotations of a Service. Nothing of it is changed until an error is corrected. */
export function portProblems(desired: Desired): readonly Problem[] {
  const { ports, settings, sourceRanges } = desired;
  const problems: Problem[] = [];
  const report = (severity: Problem["severity"], reason: Problem["reason"], text: string) =>
    problems.push({ severity, reason, text });
  const without = ports.filter(({ nodePort }) => nodePort === undefined).map(({ port }) => port);
  if (without.length > 0)
    report(
      "warning",
      "UnsupportedByCloud",
      `Rancher forwards to node ports, and these ports have none: ${without.join(", ")}. They are left out. Remove allocateLoadBalancerNodePorts: false.`,
    );
  const protocols = settings["lb-protocol"];
  for (const name of Object.keys(protocols?.byPort ?? {})) {
    if (ports.some(({ port }) => String(port) === name)) continue;
    report(
      "warning",
      "InvalidAnnotation",
      `service.rancher.io/lb-protocol names port ${name}, which the Service does not have. It is ignored.`,
    );
  }
  const reserved = ports.find(({ port }) => port === 42);
  if (reserved !== undefined)
    report(
      "error",
      "UnsupportedByCloud",
      "Rancher uses port 42 of its load balancers for their health check. Nothing is changed. Use another port.",
    );
  const all = portsOf(desired);
  const isSecure = all.some(({ protocol }) => protocol === "https" || protocol === "tls");
  if (isSecure && (settings["lb-certificates"] ?? settings["lb-default-certificate"]) === undefined)
    report(
      "error",
      "InvalidAnnotation",
      "A port with https or tls needs a certificate. Nothing is changed. Set service.rancher.io/lb-default-certificate.",
    );
  const udp = all.filter(({ protocol }) => protocol === "udp").map(({ port }) => port);
  if (udp.length > 0 && sourceRanges !== undefined)
    report(
      "warning",
      "UnsupportedByCloud",
      `Source ranges have no effect on the UDP ports ${udp.join(", ")}: haproxy does not forward them. Use a firewall.`,
    );
  return problems;
}

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
  const text = `The certificate ${missing.map((name) => JSON.stringify(name)).join(", ")} does not exist in this environment, or several have the name. Nothing is changed. Upload it, or use an id.`;
  const problems =
    missing.length === 0 ? [] : [{ severity: "error", reason: "MissingCloudObject", text } as const];
  return { ids, defaultID, problems };
}

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

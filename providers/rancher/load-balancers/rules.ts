// The port rules and the other parts of a load balancer's configuration, as desired and as observed. Pure.

import type { ApiLoadBalancer, LbConfig, PortRule } from "../api/resources.ts";
import type { Certificates } from "./certificates.ts";
import { backendName, haproxyConfig } from "./haproxy.ts";
import type { Desired } from "./model.ts";
import { portsOf } from "./ports.ts";

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

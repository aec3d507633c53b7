// Reads the bodies of requests that create or change services, and refuses what the API refuses.

import { Refusal } from "../refusal.ts";
import type { Environment } from "../state/environment.ts";
import type { LbConfig, PortRule, Service, ServiceFields, ServiceType } from "../state/service.ts";

type Json = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textsOf = (value: unknown): readonly string[] => listOf(value).map(String);
const textOrNull = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

const protocols = new Set(["http", "tcp", "https", "tls", "sni", "udp"]);

function ruleOf(value: unknown, environment: Environment): PortRule {
  const rule = objectOf(value);
  const [source, target] = [Number(rule["sourcePort"]), Number(rule["targetPort"])];
  if (!(source >= 1 && source <= 65535))
    throw new Refusal("MissingRequired", "Source port is required", "sourcePort");
  const serviceId = textOrNull(rule["serviceId"]);
  if (serviceId !== null) {
    if (!(target >= 1 && target <= 65535))
      throw new Refusal("MissingRequired", "Target port is required with a service", "targetPort");
    const service = environment.services.get(serviceId);
    if (service === undefined || service.removed !== null || service.state === "removing")
      throw new Refusal("InvalidReference", `Service ${serviceId} does not exist`, "serviceId");
  }
  const selector = textOrNull(rule["selector"]);
  if ((serviceId === null) === (selector === null))
    throw new Refusal("InvalidOption", "Either a service or a selector is required", "serviceId");
  const protocol = textOrNull(rule["protocol"]) ?? "http";
  if (!protocols.has(protocol))
    throw new Refusal("InvalidOption", `Invalid protocol ${protocol}`, "protocol");
  return {
    sourcePort: source,
    targetPort: serviceId === null ? null : target,
    protocol,
    serviceId,
    selector,
    backendName: textOrNull(rule["backendName"]),
  };
}

function lbConfigOf(value: unknown, environment: Environment): LbConfig {
  const config = objectOf(value);
  const portRules = listOf(config["portRules"]).map((rule) => ruleOf(rule, environment));
  const certificateIds = textsOf(config["certificateIds"]);
  const defaultCertificateId = textOrNull(config["defaultCertificateId"]);
  for (const id of [...certificateIds, defaultCertificateId ?? []].flat()) {
    if (!environment.certificates.some((one) => one.id === id))
      throw new Refusal("InvalidReference", `Certificate ${id} does not exist`, "certificateIds");
  }
  const isSecure = portRules.some(({ protocol }) => protocol === "https" || protocol === "tls");
  if (isSecure && defaultCertificateId === null && certificateIds.length === 0)
    throw new Refusal("MissingRequired", "Default certificate is required", "defaultCertificateId");
  const sticky = config["stickinessPolicy"];
  return {
    portRules,
    certificateIds,
    defaultCertificateId,
    config: textOrNull(config["config"]),
    stickinessPolicy: sticky === null || sticky === undefined ? null : objectOf(sticky),
  };
}

function launchConfigOf(value: unknown): ServiceFields["launchConfig"] {
  const config = objectOf(value);
  const imageUuid = textOrNull(config["imageUuid"]);
  if (imageUuid === null) throw new Refusal("MissingRequired", "Image is required", "imageUuid");
  const ports = textsOf(config["ports"]);
  const wrong = ports.find((port) => !/^(\d+(\.\d+){3}:)?\d+:\d+\/(tcp|udp)$/.test(port));
  if (wrong !== undefined) throw new Refusal("PortWrongFormat", `Port ${wrong} has a wrong format`, "ports");
  const labels = Object.entries(objectOf(config["labels"])).map(
    ([key, text]) => [key, String(text)] as const,
  );
  const requestedHostId = textOrNull(config["requestedHostId"]);
  return { imageUuid, ports, labels: Object.fromEntries(labels), requestedHostId };
}

function checkedName(name: string): string {
  if (/^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/.test(name)) return name;
  throw new Refusal("InvalidFormat", `Invalid name ${name}`, "name");
}

export function newService(type: ServiceType, body: unknown, environment: Environment): ServiceFields {
  const fields = objectOf(body);
  const [name, stackId] = [textOrNull(fields["name"]), textOrNull(fields["stackId"])];
  if (name === null) throw new Refusal("MissingRequired", "Name is required", "name");
  checkedName(name);
  if (stackId === null || !environment.stacks.some(({ id }) => id === stackId))
    throw new Refusal("InvalidReference", "The stack does not exist", "stackId");
  const isBalancer = type === "loadBalancerService";
  const ips = textsOf(fields["externalIpAddresses"]);
  if (!isBalancer && ips.length === 0)
    throw new Refusal("MissingRequired", "External addresses are required", "externalIpAddresses");
  return {
    name,
    stackId,
    scale: typeof fields["scale"] === "number" ? fields["scale"] : 1,
    launchConfig: isBalancer ? launchConfigOf(fields["launchConfig"]) : null,
    lbConfig: isBalancer ? lbConfigOf(fields["lbConfig"], environment) : null,
    externalIpAddresses: isBalancer ? null : ips,
    healthCheck: fields["healthCheck"] ? objectOf(fields["healthCheck"]) : null,
    metadata: objectOf(fields["metadata"]),
    startOnCreate: fields["startOnCreate"] === true,
  };
}

/** Fields that are absent stay. A launch configuration is replaced as a whole. The health check cannot be changed. */
export function changedFields(
  body: unknown,
  environment: Environment,
  { type, launchConfig: before }: Pick<Service, "type" | "launchConfig">,
): Partial<ServiceFields> {
  const fields = objectOf(body);
  const isBalancer = type === "loadBalancerService";
  const launchConfig =
    isBalancer && fields["launchConfig"] !== undefined ? launchConfigOf(fields["launchConfig"]) : undefined;
  const isGlobal = (config: ServiceFields["launchConfig"]) =>
    config?.labels["io.rancher.scheduler.global"] === "true";
  if (launchConfig !== undefined && isGlobal(launchConfig) !== isGlobal(before))
    throw new Refusal("InvalidOption", "Switching from global scale to fixed (and vice versa)");
  const name = textOrNull(fields["name"]);
  return {
    ...(name !== null && { name: checkedName(name) }),
    ...(launchConfig !== undefined && { launchConfig }),
    ...(fields["lbConfig"] !== undefined && { lbConfig: lbConfigOf(fields["lbConfig"], environment) }),
    ...(typeof fields["scale"] === "number" && { scale: fields["scale"] }),
    ...(fields["externalIpAddresses"] !== undefined && {
      externalIpAddresses: textsOf(fields["externalIpAddresses"]),
    }),
    ...(fields["metadata"] !== undefined && { metadata: objectOf(fields["metadata"]) }),
  };
}

// Reads the bodies of requests that create or change objects, and rejects the same bodies as the API.

import { Refusal } from "../refusal.ts";
import type { Environment } from "../state/environment.ts";
import type { LbConfig, PortRule, Service, ServiceFields, ServiceType } from "../state/service.ts";
import { requiredFields } from "./schemas.ts";

export type Json = Readonly<Record<string, unknown>>;

export const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textsOf = (value: unknown): readonly string[] => listOf(value).map(String);
export const textOrNull = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

const maxNameLength = 63;

/** The name of a new stack or service. */
export function nameOf({ name }: Json): string {
  if (name === undefined || name === null) throw new Refusal("MissingRequired", "Name is required", "name");
  if (typeof name !== "string" || !/^[a-zA-Z0-9-]*$/.test(name))
    throw new Refusal(
      "InvalidCharacters",
      "Name has characters other than letters, digits and dashes",
      "name",
    );
  if (name === "") throw new Refusal("MinLengthExceeded", "Name is empty", "name");
  if (name.length > maxNameLength)
    throw new Refusal("MaxLengthExceeded", `Name has more than ${maxNameLength} characters`, "name");
  if (name.startsWith("-") || name.endsWith("-"))
    throw new Refusal("InvalidFormat", "Name begins or ends with a dash", "name");
  return name;
}

/** Rejects a body without a field that the schema requires. */
export function checkRequired(body: Json, fields: readonly string[]): void {
  const missing = fields.find((name) => body[name] === undefined || body[name] === null);
  if (missing !== undefined) throw new Refusal("MissingRequired", `${missing} is required`, missing);
}

const protocols = new Set(["http", "tcp", "https", "tls", "sni", "udp"]);
/** The port at which the server checks the health of the containers. */
const reservedPort = 42;

function portOf(value: unknown, field: string): number | null {
  if (value === undefined || value === null) return null;
  const port = Number(value);
  if (!Number.isInteger(port)) throw new Refusal("InvalidFormat", `${field} is not a number`, field);
  if (port < 1) throw new Refusal("MinLimitExceeded", `${field} is less than 1`, field);
  if (port > 65_535) throw new Refusal("MaxLimitExceeded", `${field} is more than 65535`, field);
  return port;
}

function existingService(id: string, environment: Environment): void {
  const service = environment.services.get(id);
  if (service === undefined || service.removed !== null || service.state === "removing")
    throw new Refusal("InvalidReference", `Service ${service?.name ?? id} is removed`, "serviceId");
}

function ruleOf(value: unknown, environment: Environment): PortRule {
  const rule = objectOf(value);
  const source = portOf(rule["sourcePort"], "sourcePort");
  if (source === null) throw new Refusal("MissingRequired", "Source port is required", "sourcePort");
  if (source === reservedPort)
    throw new Refusal("InvalidOption", `Port ${reservedPort} is reserved for service health check`);
  const target = portOf(rule["targetPort"], "targetPort");
  const serviceId = textOrNull(rule["serviceId"]);
  if (serviceId !== null) {
    if (target === null)
      throw new Refusal("MissingRequired", "Target port is required with a service", "targetPort");
    existingService(serviceId, environment);
  }
  const selector = textOrNull(rule["selector"]);
  if (serviceId === null && selector === null)
    throw new Refusal("MissingRequired", "A service or a selector is required", "serviceId");
  if (serviceId !== null && selector !== null)
    throw new Refusal("InvalidOption", "Can't specify both selector and serviceId");
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
    hostname: textOrNull(rule["hostname"]),
    path: textOrNull(rule["path"]),
    priority: typeof rule["priority"] === "number" ? rule["priority"] : null,
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

function refuse(code: "PortWrongFormat" | "PortInvalidProtocol", port: string): never {
  throw new Refusal(code, `Port ${port} is not as in 192.0.2.1:80:8080/tcp`, "ports");
}

function launchConfigOf(value: unknown): ServiceFields["launchConfig"] {
  const config = objectOf(value);
  const imageUuid = textOrNull(config["imageUuid"]);
  if (imageUuid === null) throw new Refusal("MissingRequired", "Image is required", "imageUuid");
  const ports = textsOf(config["ports"]);
  for (const port of ports) {
    const [, protocol = "tcp"] =
      /^(?:(?:[\d.]+:)?\d{1,5}:)?\d{1,5}(?:\/(\w+))?$/.exec(port) ?? refuse("PortWrongFormat", port);
    if (protocol !== "tcp" && protocol !== "udp") refuse("PortInvalidProtocol", port);
  }
  const labels = Object.entries(objectOf(config["labels"])).map(
    ([key, text]) => [key, String(text)] as const,
  );
  const requestedHostId = textOrNull(config["requestedHostId"]);
  return { imageUuid, ports, labels: Object.fromEntries(labels), requestedHostId };
}

function scaleOf({ scale }: Json): number | undefined {
  if (scale === undefined || scale === null) return undefined;
  if (!Number.isInteger(scale)) throw new Refusal("InvalidFormat", "scale is not a number", "scale");
  if (Number(scale) < 0) throw new Refusal("MinLimitExceeded", "scale is less than 0", "scale");
  return Number(scale);
}

/** The launch configuration in the input of the action `upgrade`. */
export function upgradedConfig(body: unknown): ServiceFields["launchConfig"] {
  const strategy = objectOf(body)["inServiceStrategy"];
  if (strategy === undefined || strategy === null)
    throw new Refusal("MissingRequired", "Upgrade strategy needs to be set");
  return launchConfigOf(objectOf(strategy)["launchConfig"]);
}

/** The services in the input of the action `setservicelinks`. */
export function linksOf(body: unknown, environment: Environment): readonly string[] {
  const ids = listOf(objectOf(body)["serviceLinks"]).map((link) => textOrNull(objectOf(link)["serviceId"]));
  return ids.map((id) => {
    if (id === null) throw new Refusal("MissingRequired", "serviceId is required", "serviceId");
    existingService(id, environment);
    return id;
  });
}

export function newService(type: ServiceType, body: unknown, environment: Environment): ServiceFields {
  const fields = objectOf(body);
  const [name, stackId] = [nameOf(fields), textOrNull(fields["stackId"])];
  checkRequired(fields, requiredFields(type));
  if (stackId === null || !environment.stacks.some(({ id }) => id === stackId))
    throw new Refusal("InvalidReference", "The stack does not exist", "stackId");
  const isBalancer = type === "loadBalancerService";
  const [ips, hostname] = [textsOf(fields["externalIpAddresses"]), textOrNull(fields["hostname"])];
  if (!isBalancer && ips.length > 0 && hostname !== null)
    throw new Refusal("InvalidOption", "externalIpAddresses and hostname are mutually exclusive");
  return {
    name,
    stackId,
    scale: scaleOf(fields) ?? 1,
    launchConfig: isBalancer ? launchConfigOf(fields["launchConfig"]) : null,
    lbConfig: isBalancer ? lbConfigOf(fields["lbConfig"], environment) : null,
    externalIpAddresses: isBalancer ? null : ips,
    hostname: isBalancer ? null : hostname,
    healthCheck: fields["healthCheck"] ? objectOf(fields["healthCheck"]) : null,
    metadata: objectOf(fields["metadata"]),
    startOnCreate: fields["startOnCreate"] === true,
  };
}

/** Absent fields stay. A launch configuration is replaced as a whole. The health check cannot be changed. */
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
  const scale = scaleOf(fields);
  return {
    ...(fields["name"] !== undefined && { name: nameOf(fields) }),
    ...(launchConfig !== undefined && { launchConfig }),
    ...(fields["lbConfig"] !== undefined && { lbConfig: lbConfigOf(fields["lbConfig"], environment) }),
    ...(scale !== undefined && { scale }),
    ...(fields["externalIpAddresses"] !== undefined && {
      externalIpAddresses: textsOf(fields["externalIpAddresses"]),
    }),
    ...(fields["metadata"] !== undefined && { metadata: objectOf(fields["metadata"]) }),
  };
}

// Reads load balancer services with the API's defaults, and checks them against each other.

import { Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import type { Balancer, HealthCheck, HttpOptions, Service } from "../state/balancers.ts";
import { loadBalancerTypes, offer } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";

const maxPort = 65_535;
const defaultPorts = { tcp: undefined, http: [80, 80], https: [443, 80] } as const;

function readHttpCheck(
  body: BodyReader | undefined,
  before: HealthCheck["http"],
): NonNullable<HealthCheck["http"]> {
  return {
    domain: body?.isNull("domain") === true ? null : (body?.text("domain") ?? before?.domain ?? null),
    path: body?.text("path") ?? before?.path ?? "/",
    response: body?.text("response") ?? before?.response ?? "",
    status_codes: body?.texts("status_codes") ?? before?.status_codes ?? ["2??", "3??"],
    tls: body?.flag("tls") ?? before?.tls ?? false,
  };
}

function readHealthCheck(
  body: BodyReader | undefined,
  service: Pick<Service, "protocol" | "destination_port">,
  before: HealthCheck | undefined,
): HealthCheck {
  const fallback = service.protocol === "tcp" ? "tcp" : "http";
  const protocol = body?.oneOf("protocol", ["tcp", "http"] as const) ?? before?.protocol ?? fallback;
  const check = {
    protocol,
    port: body?.integer("port", 1, maxPort) ?? before?.port ?? service.destination_port,
    interval: body?.integer("interval", 3, 60) ?? before?.interval ?? 15,
    timeout: body?.integer("timeout", 1, 60) ?? before?.timeout ?? 10,
    retries: body?.integer("retries", 1, 5) ?? before?.retries ?? 3,
  };
  return protocol === "tcp" ? check : { ...check, http: readHttpCheck(body?.object("http"), before?.http) };
}

function readHttp(
  body: BodyReader | undefined,
  protocol: Service["protocol"],
  before: HttpOptions | undefined,
): HttpOptions {
  const redirect_http = body?.flag("redirect_http") ?? before?.redirect_http ?? false;
  if (redirect_http && protocol !== "https") body?.reject("redirect_http", "requires the protocol https");
  return {
    cookie_name: body?.text("cookie_name") ?? before?.cookie_name ?? "HCLBSTICKY",
    cookie_lifetime: body?.integer("cookie_lifetime") ?? before?.cookie_lifetime ?? 300,
    certificates: body?.integers("certificates") ?? before?.certificates ?? [],
    redirect_http,
    sticky_sessions: body?.flag("sticky_sessions") ?? before?.sticky_sessions ?? false,
    timeout_idle: body?.integer("timeout_idle", 30, 300) ?? before?.timeout_idle ?? 60,
  };
}

/** A new service, or the changes to an existing one. */
export function readService(body: BodyReader, before?: Service): Service {
  if (before === undefined) body.need("protocol");
  const protocol = body.oneOf("protocol", ["tcp", "http", "https"] as const) ?? before?.protocol ?? "tcp";
  const defaults = defaultPorts[protocol];
  if (defaults === undefined && before === undefined)
    for (const name of ["listen_port", "destination_port"]) body.need(name);
  const destination_port =
    body.integer("destination_port", 1, maxPort) ?? before?.destination_port ?? defaults?.[1] ?? 0;
  const service = {
    protocol,
    listen_port: body.integer("listen_port", 1, maxPort) ?? defaults?.[0] ?? 0,
    destination_port,
    proxyprotocol: body.flag("proxyprotocol") ?? before?.proxyprotocol ?? false,
  };
  const check = readHealthCheck(body.object("health_check"), service, before?.health_check);
  const http = body.object("http");
  if (protocol === "tcp") {
    if (http !== undefined) body.reject("http", "requires the protocol http or https");
    return { ...service, health_check: check };
  }
  return { ...service, health_check: check, http: readHttp(http, protocol, before?.http) };
}

/** A redirect listens on port 80. */
function portsOf({ listen_port, http }: Service): readonly number[] {
  return http?.redirect_http === true ? [listen_port, 80] : [listen_port];
}

/** Throws a Refusal unless the load balancer can have exactly these services. */
export function checkServices(
  { certificates }: Project,
  type: Balancer["type"],
  services: readonly Service[],
): void {
  const ports = services.flatMap(portsOf);
  if (new Set(ports).size < ports.length)
    throw new Refusal("source_port_already_used", "source port is already in use");
  const limits = offer(loadBalancerTypes, type);
  if (services.length > limits.max_services)
    throw new Refusal("resource_limit_exceeded", `at most ${limits.max_services} services are allowed`);
  const used = new Set(services.flatMap(({ http }) => http?.certificates ?? []));
  if (used.size > limits.max_assigned_certificates)
    throw new Refusal(
      "resource_limit_exceeded",
      `at most ${limits.max_assigned_certificates} certificates are allowed`,
    );
  for (const id of used) {
    if (certificates.existing(id).issuance !== "completed")
      throw new Refusal("invalid_input", `certificate ${id} is not issued`, {
        fields: [{ name: "http.certificates", messages: [`certificate ${id} is not issued`] }],
      });
  }
}

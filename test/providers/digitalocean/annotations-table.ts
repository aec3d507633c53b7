// The Go manager's interpretation of each annotation, as Services and the resulting load balancers.

import type { Balancer, ForwardingRule } from "../../../providers/digitalocean/simulator/index.ts";

type Changes = Omit<Partial<Balancer>, "health_check" | "sticky_sessions"> & {
  readonly health_check?: Partial<Balancer["health_check"]>;
  readonly sticky_sessions?: Partial<Balancer["sticky_sessions"]>;
};

export interface AnnotationCase {
  readonly name: string;
  /** Annotations without their prefix. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The ports of the Service; TCP port 80 when absent. See `nodePortOf`. */
  readonly ports?: readonly (readonly [number, "TCP" | "UDP"])[];
  readonly spec?: Readonly<Record<string, unknown>>;
  /** The differences from the load balancer of a Service without annotations. */
  readonly balancer: Changes;
  readonly hostname?: string;
  /** Set if the cloud accepts this setting only for a new load balancer. */
  readonly isFixed?: true;
}

export const certificate = "the certificate";
const known = [22, 53, 80, 443, 8080, 8443];
/** The node ports of the first Service. */
export const nodePortOf = (port: number): number => 30_000 + known.indexOf(port);
/** The node ports of the Service with this index. */
export const nodePortFor = (nodePort: number, index: number): number =>
  nodePort >= 30_000 && nodePort < 30_010 ? nodePort + 10 * index : nodePort;

const rule = (entry: string, port: number, target: string, targetPort: number): ForwardingRule => ({
  entry_protocol: entry as "tcp",
  entry_port: port,
  target_protocol: target as "tcp",
  target_port: targetPort,
  certificate_id: "",
  tls_passthrough: false,
});
const passed = (protocol: string, port: number) => rule(protocol, port, protocol, port);
const plain = (protocol: string, port: number) => rule(protocol, port, protocol, nodePortOf(port));
const secured = (protocol: string, port: number): ForwardingRule => ({
  ...rule(protocol, port, "http", nodePortOf(port)),
  certificate_id: certificate,
});
const passedTls = (protocol: string, port: number): ForwardingRule => ({
  ...plain(protocol, port),
  tls_passthrough: true,
});

const regional = { type: "REGIONAL", network_stack: "DUALSTACK" } as const;
const web = [
  [80, "TCP"],
  [443, "TCP"],
] as const;
const terminating = { type: "REGIONAL", "certificate-id": certificate } as const;
const override = { "override-health-check": "true" };
const check = (changes: Partial<Balancer["health_check"]>) => ({ health_check: changes });
const overridden = { protocol: "tcp", port: nodePortOf(80), path: "" } as const;

export const defaultRules = (type: Balancer["type"], ports: NonNullable<AnnotationCase["ports"]>) =>
  ports.map(([port, protocol]) =>
    type === "REGIONAL" ? plain(protocol.toLowerCase(), port) : passed(protocol.toLowerCase(), port),
  );

const network: readonly AnnotationCase[] = [
  { name: "none", annotations: {}, balancer: {} },
  { name: "UDP", annotations: {}, ports: [[53, "UDP"]], balancer: {} },
  { name: "name", annotations: { name: "shop.example" }, balancer: { name: "shop.example" } },
  { name: "network", annotations: { network: "INTERNAL" }, balancer: { network: "INTERNAL" }, isFixed: true },
  { name: "network stack", annotations: { "network-stack": "IPV4" }, balancer: {} },
  { name: "own address", annotations: { ip: "203.0.113.9" }, balancer: { ip: "203.0.113.9" }, isFixed: true },
  {
    name: "subnet",
    annotations: { "subnet-uuid": "subnet-1" },
    balancer: { subnet_uuid: "subnet-1" },
    isFixed: true,
  },
  { name: "size unit", annotations: { "size-unit": "4" }, balancer: { size_unit: 4, size: "lb-medium" } },
  {
    name: "size slug",
    annotations: { "size-slug": "lb-large" },
    balancer: { size_unit: 6, size: "lb-large" },
  },
  { name: "algorithm", annotations: { algorithm: "round_robin" }, balancer: {} },
  {
    name: "hostname",
    annotations: { hostname: "Shop.Example.com" },
    balancer: {},
    hostname: "shop.example.com",
  },
  {
    name: "allow rules",
    annotations: { "allow-rules": "ip:192.0.2.1, cidr:198.51.100.0/24" },
    balancer: { firewall: { allow: ["ip:192.0.2.1", "cidr:198.51.100.0/24"], deny: [] } },
  },
  {
    name: "deny rules",
    annotations: { "deny-rules": "cidr:2001:db8::/32" },
    balancer: { firewall: { allow: [], deny: ["cidr:2001:db8::/32"] } },
  },
  {
    name: "source ranges",
    annotations: { "allow-rules": "ip:192.0.2.1" },
    spec: { loadBalancerSourceRanges: ["10.0.0.0/8"] },
    balancer: { firewall: { allow: ["cidr:10.0.0.0/8"], deny: [] } },
  },
  {
    name: "local traffic",
    annotations: {},
    spec: { externalTrafficPolicy: "Local", healthCheckNodePort: 31_234 },
    balancer: check({ port: 31_234 }),
  },
  {
    name: "check interval",
    annotations: { "healthcheck-check-interval-seconds": "10" },
    balancer: check({ check_interval_seconds: 10 }),
  },
  {
    name: "check timeout",
    annotations: { "healthcheck-response-timeout-seconds": "20" },
    balancer: check({ response_timeout_seconds: 20 }),
  },
  {
    name: "unhealthy threshold",
    annotations: { "healthcheck-unhealthy-threshold": "10" },
    balancer: check({ unhealthy_threshold: 10 }),
  },
  {
    name: "healthy threshold",
    annotations: { "healthcheck-healthy-threshold": "2" },
    balancer: check({ healthy_threshold: 2 }),
  },
  { name: "overridden check", annotations: override, balancer: check(overridden) },
  {
    name: "checked port",
    annotations: { ...override, "healthcheck-port": "443" },
    ports: web,
    balancer: check({ ...overridden, port: nodePortOf(443) }),
  },
  {
    name: "checked path",
    annotations: { ...override, "healthcheck-path": "/ready" },
    balancer: check({ ...overridden, protocol: "http", path: "/ready" }),
  },
  {
    name: "check protocol",
    annotations: { ...override, "healthcheck-protocol": "https" },
    balancer: check({ ...overridden, protocol: "https", path: "/" }),
  },
];

const terminated: readonly AnnotationCase[] = [
  { name: "type", annotations: { type: "REGIONAL" }, balancer: regional, isFixed: true },
  {
    name: "protocol",
    annotations: { type: "REGIONAL", protocol: "http" },
    balancer: { ...regional, forwarding_rules: [plain("http", 80)] },
  },
  {
    name: "HTTP ports",
    annotations: { type: "REGIONAL", "http-ports": "80,8080" },
    ports: [
      [80, "TCP"],
      [8080, "TCP"],
      [22, "TCP"],
      [53, "UDP"],
    ],
    balancer: {
      ...regional,
      forwarding_rules: [plain("http", 80), plain("http", 8080), plain("tcp", 22), plain("udp", 53)],
    },
  },
  {
    name: "certificate by id",
    annotations: terminating,
    ports: web,
    balancer: { ...regional, forwarding_rules: [plain("tcp", 80), secured("https", 443)] },
  },
  {
    name: "certificate by name",
    annotations: { type: "REGIONAL", "certificate-name": "shop" },
    ports: web,
    balancer: { ...regional, forwarding_rules: [plain("tcp", 80), secured("https", 443)] },
  },
  {
    name: "TLS ports",
    annotations: {
      ...terminating,
      "tls-ports": "8443",
      "redirect-http-to-https": "true",
      "http-ports": "80",
    },
    ports: [
      [80, "TCP"],
      [8443, "TCP"],
    ],
    balancer: {
      ...regional,
      redirect_http_to_https: true,
      forwarding_rules: [plain("http", 80), secured("https", 8443)],
    },
  },
  {
    name: "TLS passthrough",
    annotations: { type: "REGIONAL", "tls-passthrough": "true" },
    ports: web,
    balancer: { ...regional, forwarding_rules: [plain("tcp", 80), passedTls("https", 443)] },
  },
  {
    name: "HTTP/2 ports",
    annotations: { ...terminating, "http2-ports": "443" },
    ports: web,
    balancer: { ...regional, forwarding_rules: [plain("tcp", 80), secured("http2", 443)] },
  },
  {
    name: "HTTP/3 port",
    annotations: { ...terminating, "http3-port": "443" },
    ports: web,
    balancer: {
      ...regional,
      forwarding_rules: [plain("tcp", 80), secured("https", 443), secured("http3", 443)],
    },
  },
  {
    name: "DNS records",
    annotations: { ...terminating, "disable-lets-encrypt-dns-records": "true" },
    ports: web,
    balancer: {
      ...regional,
      disable_lets_encrypt_dns_records: true,
      forwarding_rules: [plain("tcp", 80), secured("https", 443)],
    },
  },
  {
    name: "PROXY protocol",
    annotations: { type: "REGIONAL", "enable-proxy-protocol": "true" },
    balancer: { ...regional, enable_proxy_protocol: true },
  },
  {
    name: "keep-alive",
    annotations: { type: "REGIONAL", "enable-backend-keepalive": "1" },
    balancer: { ...regional, enable_backend_keepalive: true },
  },
  {
    name: "idle timeout",
    annotations: { type: "REGIONAL", "http-idle-timeout-seconds": "120" },
    balancer: { ...regional, http_idle_timeout_seconds: 120 },
  },
  {
    name: "sticky sessions",
    annotations: {
      type: "REGIONAL",
      protocol: "http",
      "sticky-sessions-type": "cookies",
      "sticky-sessions-cookie-name": "node",
      "sticky-sessions-cookie-ttl": "300",
    },
    balancer: {
      ...regional,
      forwarding_rules: [plain("http", 80)],
      sticky_sessions: { type: "cookies", cookie_name: "node", cookie_ttl_seconds: 300 },
    },
  },
];

export const annotationCases: readonly AnnotationCase[] = [...network, ...terminated];

// A row for each annotation: a Service with it, the load balancer that the Go manager leaves, and the requests for its changes.

import type {
  Balancer,
  HealthCheck,
  HttpOptions,
  Service,
} from "../../../providers/hetzner/simulator/index.ts";

export interface AnnotationCase {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The differences from a load balancer without annotations. */
  readonly balancer?: Partial<
    Pick<Balancer, "name" | "type" | "location" | "algorithm" | "isPublic" | "pointers">
  >;
  readonly service?: Partial<Omit<Service, "health_check" | "http">>;
  readonly http?: Partial<HttpOptions>;
  readonly healthCheck?: Partial<HealthCheck>;
  readonly targetsUsePrivateIP?: boolean;
  /** The requests that lead from a load balancer without annotations to the same state. */
  readonly changes: readonly string[];
  /** How the addresses in the status differ. */
  readonly ingress?: "hostname" | "no IPv6" | "only private" | "only public" | "proxy";
}

const action = (name: string) => `POST /load_balancers/{id}/actions/${name}`;
const update = [action("update_service")];
const retarget = [
  action("remove_target"),
  action("add_target"),
  action("remove_target"),
  action("add_target"),
];

export const httpDefaults: HttpOptions = {
  cookie_name: "HCLBSTICKY",
  cookie_lifetime: 300,
  certificates: [],
  redirect_http: false,
  sticky_sessions: false,
  timeout_idle: 60,
};

export const checkDefaults: HealthCheck = { protocol: "tcp", port: 0, interval: 15, timeout: 10, retries: 3 };

const httpCheck = { domain: null, path: "/", response: "", status_codes: ["2??", "3??"], tls: false };

export const annotationCases: readonly AnnotationCase[] = [
  { name: "none", annotations: {}, changes: [] },
  {
    name: "name",
    annotations: { name: "web" },
    balancer: { name: "web" },
    changes: ["PUT /load_balancers/{id}"],
  },
  {
    name: "type",
    annotations: { type: "lb21" },
    balancer: { type: "lb21" },
    changes: [action("change_type")],
  },
  { name: "location", annotations: { location: "nbg1" }, balancer: { location: "nbg1" }, changes: [] },
  { name: "network zone", annotations: { location: "", "network-zone": "eu-central" }, changes: [] },
  {
    name: "algorithm",
    annotations: { "algorithm-type": "least_connections" },
    balancer: { algorithm: "least_connections" },
    changes: [action("change_algorithm")],
  },
  {
    name: "algorithm in upper case",
    annotations: { "algorithm-type": "LEAST_CONNECTIONS" },
    balancer: { algorithm: "least_connections" },
    changes: [action("change_algorithm")],
  },
  { name: "hostname", annotations: { hostname: "lb.example.com" }, changes: [], ingress: "hostname" },
  { name: "IPv6 disabled", annotations: { "ipv6-disabled": "true" }, changes: [], ingress: "no IPv6" },
  {
    name: "public network disabled",
    annotations: { "disable-public-network": "true", "use-private-ip": "true" },
    balancer: { isPublic: false },
    targetsUsePrivateIP: true,
    changes: [...retarget, action("disable_public_interface")],
    ingress: "only private",
  },
  { name: "public network enabled", annotations: { "disable-public-network": "false" }, changes: [] },
  {
    name: "private ingress disabled",
    annotations: { "disable-private-ingress": "true" },
    changes: [],
    ingress: "only public",
  },
  {
    name: "private IP of targets",
    annotations: { "use-private-ip": "true" },
    targetsUsePrivateIP: true,
    changes: retarget,
  },
  {
    name: "protocol http",
    annotations: { protocol: "http" },
    service: { protocol: "http" },
    http: {},
    changes: update,
  },
  {
    name: "protocol in upper case",
    annotations: { protocol: "HTTP" },
    service: { protocol: "http" },
    http: {},
    changes: update,
  },
  {
    name: "PROXY protocol",
    annotations: { "uses-proxyprotocol": "true" },
    service: { proxyprotocol: true },
    changes: update,
    ingress: "proxy",
  },
  {
    name: "cookie name",
    annotations: { protocol: "http", "http-cookie-name": "session" },
    service: { protocol: "http" },
    http: { cookie_name: "session" },
    changes: update,
  },
  {
    name: "cookie lifetime",
    annotations: { protocol: "http", "http-cookie-lifetime": "1h" },
    service: { protocol: "http" },
    http: { cookie_lifetime: 3600 },
    changes: update,
  },
  {
    name: "sticky sessions",
    annotations: { protocol: "http", "http-sticky-sessions": "true" },
    service: { protocol: "http" },
    http: { sticky_sessions: true },
    changes: update,
  },
  {
    name: "idle timeout",
    annotations: { protocol: "http", "http-timeout-idle": "120s" },
    service: { protocol: "http" },
    http: { timeout_idle: 120 },
    changes: update,
  },
  {
    name: "explicit TCP health check",
    annotations: { "health-check-protocol": "tcp" },
    changes: [],
  },
  {
    name: "health check port",
    annotations: { "health-check-port": "10256" },
    healthCheck: { port: 10256 },
    changes: update,
  },
  {
    name: "health check interval",
    annotations: { "health-check-interval": "5s" },
    healthCheck: { interval: 5 },
    changes: update,
  },
  {
    name: "health check interval in seconds",
    annotations: { "health-check-interval": "5" },
    healthCheck: { interval: 5 },
    changes: update,
  },
  {
    name: "health check timeout",
    annotations: { "health-check-timeout": "3s" },
    healthCheck: { timeout: 3 },
    changes: update,
  },
  {
    name: "health check retries",
    annotations: { "health-check-retries": "5" },
    healthCheck: { retries: 5 },
    changes: update,
  },
  {
    name: "HTTP health check",
    annotations: { "health-check-protocol": "http" },
    healthCheck: { protocol: "http", http: httpCheck },
    changes: update,
  },
  {
    name: "health check of an HTTP port",
    annotations: { protocol: "http", "health-check-interval": "7s" },
    service: { protocol: "http" },
    http: {},
    healthCheck: { protocol: "http", interval: 7, http: httpCheck },
    changes: update,
  },
  {
    name: "health check domain",
    annotations: { "health-check-protocol": "http", "health-check-http-domain": "example.com" },
    healthCheck: { protocol: "http", http: { ...httpCheck, domain: "example.com" } },
    changes: update,
  },
  {
    name: "health check path",
    annotations: { "health-check-protocol": "http", "health-check-http-path": "/healthz" },
    healthCheck: { protocol: "http", http: { ...httpCheck, path: "/healthz" } },
    changes: update,
  },
  {
    name: "health check with verified certificate",
    annotations: { "health-check-protocol": "http", "health-check-http-validate-certificate": "true" },
    healthCheck: { protocol: "http", http: { ...httpCheck, tls: true } },
    changes: update,
  },
  {
    name: "status codes",
    annotations: { "health-check-protocol": "http", "http-status-codes": "200,204" },
    healthCheck: { protocol: "http", http: { ...httpCheck, status_codes: ["200", "204"] } },
    changes: update,
  },
  {
    name: "HTTPS health check",
    annotations: { "health-check-protocol": "https" },
    healthCheck: { protocol: "http", http: { ...httpCheck, tls: true } },
    changes: update,
  },
  {
    name: "domain of a TCP health check, which is ignored",
    annotations: { "health-check-http-domain": "example.com" },
    changes: [],
  },
  {
    name: "reverse DNS of IPv4",
    annotations: { "ipv4-rdns": "lb4.example.com" },
    balancer: { pointers: { v4: "lb4.example.com" } },
    changes: [action("change_dns_ptr")],
  },
  {
    name: "reverse DNS of IPv6",
    annotations: { "ipv6-rdns": "lb6.example.com" },
    balancer: { pointers: { v6: "lb6.example.com" } },
    changes: [action("change_dns_ptr")],
  },
  {
    name: "read-only annotations",
    annotations: { ipv4: "198.51.100.1", ipv6: "2001:db8::1", id: "7" },
    changes: [],
  },
  {
    name: "type and algorithm together",
    annotations: { type: "lb31", "algorithm-type": "least_connections" },
    balancer: { type: "lb31", algorithm: "least_connections" },
    changes: [action("change_type"), action("change_algorithm")],
  },
];

// Service annotations under service.beta.kubernetes.io/do-loadbalancer-.

import { address, entries, type Field, flag, integer, oneOf, text, textOrEmpty } from "#ccm";

export const prefix = "service.beta.kubernetes.io/do-loadbalancer-";
export const disown = "service.kubernetes.io/do-loadbalancer-disown";

const portRange = { min: 1, max: 65535 };
function portOf(raw: string): number | undefined {
  const parsed = integer("", portRange).parse(raw);
  return "value" in parsed ? parsed.value : undefined;
}
const regional = { onlyWith: { type: ["REGIONAL"] } } as const;
const ports = (what: string) =>
  entries(what, "a comma-separated list of ports such as 80,8080", portOf, regional);

const rules = (what: string) =>
  entries(what, "a comma-separated list such as ip:192.0.2.1,cidr:198.51.100.0/24", (raw) =>
    /^(ip|cidr):[0-9a-fA-F.:/]+$/.test(raw) ? raw : undefined,
  );

const name: Field<string> = {
  text: "Name of the load balancer. An existing load balancer with this name that serves no Service is adopted.",
  expects:
    "at most 255 letters, digits, dots and dashes, without a dot or dash at the start or a dash at the end",
  parse: (raw) =>
    /^[A-Za-z0-9]([A-Za-z0-9.-]{0,253}[A-Za-z0-9.])?$/.test(raw.trim())
      ? { value: raw.trim() }
      : { wrong: JSON.stringify(raw.slice(0, 80)) },
};

const no = { fallback: false };
const off = { ...no, ...regional };
const cookies = { onlyWith: { "sticky-sessions-type": ["cookies"] } } as const;
const override = { onlyWith: { "override-health-check": [] } } as const;
const fixed = { whenChanged: "reject" } as const;
const networks = ["EXTERNAL", "INTERNAL"] as const;
const seconds = { min: 3, max: 300 };
const times = { min: 2, max: 10 };
const three = { fallback: 3 };

export const annotations = {
  name,
  type: oneOf(
    "REGIONAL terminates connections, REGIONAL_NETWORK passes packets on.",
    ["REGIONAL", "REGIONAL_NETWORK"],
    { ...fixed, defaultFrom: "default-lb-type" },
  ),
  network: oneOf("Whether the load balancer has public addresses (EXTERNAL) or not (INTERNAL).", networks, {
    ...fixed,
    fallback: "EXTERNAL",
  }),
  "network-stack": oneOf("The IP families of a new load balancer.", ["IPV4", "DUALSTACK"], fixed),
  ip: address("Your own address (BYOIP) for a new load balancer.", fixed),
  "subnet-uuid": textOrEmpty("Subnet of the VPC for a new load balancer.", fixed),
  "size-unit": integer("Number of load balancer nodes. Default: 1.", { min: 0, max: 200 }),
  "size-slug": oneOf("Deprecated: use size-unit.", ["lb-small", "lb-medium", "lb-large"]),
  algorithm: text("The API ignores it.", { ineffective: true }),
  protocol: oneOf("Protocol of TCP ports in none of the lists.", ["tcp", "http", "https", "http2", "http3"], {
    ...regional,
    fallback: "tcp",
  }),
  "http-ports": ports("Ports with the protocol http."),
  "tls-ports": ports("Ports with the protocol https. Default with a certificate or tls-passthrough: 443."),
  "http2-ports": ports("Ports with the protocol http2."),
  "http3-port": integer("A port that also accepts http3.", portRange, regional),
  "tls-passthrough": flag("Pass encrypted data on to the Nodes.", off),
  "certificate-id": text("Id of the certificate. Rewritten when Let's Encrypt renews it.", regional),
  "certificate-name": text("Name of the certificate.", { ...regional, overriddenBy: "certificate-id" }),
  "redirect-http-to-https": flag("Redirect HTTP to HTTPS.", off),
  "disable-lets-encrypt-dns-records": flag("Create no DNS records for Let's Encrypt.", off),
  "enable-proxy-protocol": flag("Use the PROXY protocol to the Nodes.", off),
  "enable-backend-keepalive": flag("Keep HTTP connections to the Nodes open.", off),
  "http-idle-timeout-seconds": integer(
    "Idle timeout of HTTP.",
    { min: 30, max: 600 },
    { ...regional, fallback: 60 },
  ),
  "sticky-sessions-type": oneOf("Send a client to the same Node.", ["none", "cookies"], {
    ...regional,
    fallback: "none",
  }),
  "sticky-sessions-cookie-name": text("Name of the cookie for sticky sessions.", cookies),
  "sticky-sessions-cookie-ttl": integer(
    "Lifetime of the cookie for sticky sessions in seconds.",
    { min: 1 },
    cookies,
  ),
  "override-health-check": textOrEmpty(
    "With any value, the annotations healthcheck-port, healthcheck-path and healthcheck-protocol apply.",
  ),
  "healthcheck-port": integer(
    "The checked port of the Service. Default: its first TCP port.",
    portRange,
    override,
  ),
  "healthcheck-path": text("Path of HTTP health checks.", override),
  "healthcheck-protocol": oneOf("Protocol of health checks.", ["tcp", "http", "https"], override),
  "healthcheck-check-interval-seconds": integer("Interval of health checks.", seconds, three),
  "healthcheck-response-timeout-seconds": integer("Timeout of a health check.", seconds, { fallback: 5 }),
  "healthcheck-unhealthy-threshold": integer("Failures until a Node gets no traffic.", times, three),
  "healthcheck-healthy-threshold": integer("Successes until a Node gets traffic again.", times, {
    fallback: 5,
  }),
  "allow-rules": rules("Clients that may connect, unless spec.loadBalancerSourceRanges names some."),
  "deny-rules": rules("Clients that may not connect."),
  hostname: text("Published instead of the addresses."),
  "ip-mode": oneOf("The ipMode of published addresses. Default: none, which means VIP.", ["VIP", "Proxy"], {
    defaultFrom: "load-balancer-ip-mode",
    overriddenBy: "hostname",
  }),
  [disown]: flag("Neither change nor delete the load balancer.", no),
  "kubernetes.digitalocean.com/firewall-managed": flag(
    "Open a NodePort Service's node ports in the firewall.",
    { fallback: true },
  ),
};

export type Name = keyof typeof annotations & string;

export const keyOf = (name: Name): string => (name.includes("/") ? name : prefix + name);

// The annotations of Services, under service.beta.kubernetes.io/do-loadbalancer-.

import { address, entries, flag, integer, oneOf, text, textOrEmpty } from "#ccm";

const port = (raw: string): number | undefined =>
  /^\d{1,5}$/.test(raw) && Number(raw) >= 1 && Number(raw) <= 65535 ? Number(raw) : undefined;
const ports = (what: string) => entries(what, "a comma-separated list of ports such as 80,8080", port);

const rule = (raw: string): string | undefined => (/^(ip|cidr):[0-9a-fA-F.:/]+$/.test(raw) ? raw : undefined);
const rules = (what: string) =>
  entries(what, "a comma-separated list such as ip:192.0.2.1,cidr:198.51.100.0/24", rule);

const nameField = text("Name of the load balancer. An existing one that serves no Service is adopted.");
const name = {
  ...nameField,
  expects:
    "at most 255 letters, digits, dots and dashes, without a dot or dash at the start or a dash at the end",
  parse: (raw: string) =>
    /^[A-Za-z0-9]([A-Za-z0-9.-]{0,253}[A-Za-z0-9.])?$/.test(raw.trim())
      ? { value: raw.trim() }
      : { wrong: JSON.stringify(raw.slice(0, 80)) },
};

const types = ["REGIONAL", "REGIONAL_NETWORK"] as const;
const ipModes = ["VIP", "Proxy"] as const;
const permanent = { whenChanged: "reject" } as const;

const placement = {
  name,
  type: oneOf("REGIONAL terminates connections, REGIONAL_NETWORK passes packets on.", types, {
    ...permanent,
    defaultFrom: "default-lb-type",
  }),
  network: oneOf(
    "Whether it has public addresses, or only one in the VPC.",
    ["EXTERNAL", "INTERNAL"],
    permanent,
  ),
  "network-stack": oneOf("The IP families of a new load balancer.", ["IPV4", "DUALSTACK"], permanent),
  ip: address("Own address (BYOIP) of a new load balancer. No effect on an existing one."),
  "subnet-uuid": text("Subnet of the VPC for a new load balancer.", permanent),
  "size-unit": integer("Number of nodes of the load balancer. Default: 1.", { min: 0, max: 200 }),
  "size-slug": oneOf("Deprecated: use size-unit.", ["lb-small", "lb-medium", "lb-large"]),
  algorithm: text("No effect: the API ignores it."),
};

const protocols = {
  protocol: oneOf("Protocol of TCP ports that no list names.", ["tcp", "http", "https", "http2", "http3"], {
    fallback: "tcp",
  }),
  "http-ports": ports("Ports with the protocol http."),
  "tls-ports": ports(
    "Ports with the protocol https. Default with a certificate or with tls-passthrough: 443.",
  ),
  "http2-ports": ports("Ports with the protocol http2."),
  "http3-port": integer("A port that also accepts http3.", { min: 1, max: 65535 }),
  "tls-passthrough": flag("Pass encrypted data on to the Nodes.", { fallback: false }),
  "certificate-id": text("Id of the certificate. Rewritten when Let's Encrypt renews it."),
  "certificate-name": text("Name of the certificate, if certificate-id is not set."),
  "redirect-http-to-https": flag("Redirect HTTP to HTTPS.", { fallback: false }),
  "disable-lets-encrypt-dns-records": flag("Create no DNS records for Let's Encrypt.", { fallback: false }),
  "enable-proxy-protocol": flag("Use the PROXY protocol to the Nodes.", { fallback: false }),
  "enable-backend-keepalive": flag("Keep HTTP connections to the Nodes open.", { fallback: false }),
  "http-idle-timeout-seconds": integer(
    "Idle timeout of HTTP connections.",
    { min: 30, max: 600 },
    { fallback: 60 },
  ),
  "sticky-sessions-type": oneOf("Send a client to the same Node, by cookie.", ["none", "cookies"], {
    fallback: "none",
  }),
  "sticky-sessions-cookie-name": text("Name of the cookie for sticky sessions."),
  "sticky-sessions-cookie-ttl": integer("Lifetime of that cookie in seconds.", { min: 1 }),
};

const healthChecks = {
  "override-health-check": textOrEmpty("With any value, the next three annotations apply."),
  "healthcheck-port": integer("The port of the Service that is checked. Default: its first TCP port.", {
    min: 1,
    max: 65535,
  }),
  "healthcheck-path": text("Path of HTTP health checks."),
  "healthcheck-protocol": oneOf("Protocol of health checks.", ["tcp", "http", "https"]),
  "healthcheck-check-interval-seconds": integer(
    "Interval of health checks.",
    { min: 3, max: 300 },
    { fallback: 3 },
  ),
  "healthcheck-response-timeout-seconds": integer(
    "Timeout of a health check.",
    { min: 3, max: 300 },
    { fallback: 5 },
  ),
  "healthcheck-unhealthy-threshold": integer(
    "Failures after which a Node gets no traffic.",
    { min: 2, max: 10 },
    { fallback: 3 },
  ),
  "healthcheck-healthy-threshold": integer(
    "Successes after which it gets traffic again.",
    { min: 2, max: 10 },
    { fallback: 5 },
  ),
};

const access = {
  "allow-rules": rules("Clients that may connect, unless spec.loadBalancerSourceRanges names some."),
  "deny-rules": rules("Clients that may not connect."),
  hostname: text("Published instead of the addresses."),
  "ip-mode": oneOf("The ipMode of published addresses. Default: none, which means VIP.", ipModes, {
    defaultFrom: "load-balancer-ip-mode",
  }),
  "service.kubernetes.io/do-loadbalancer-disown": flag("Neither change nor delete the load balancer.", {
    fallback: false,
  }),
  "kubernetes.digitalocean.com/firewall-managed": flag("No effect: Fairlead does not manage the firewall.", {
    fallback: true,
  }),
};

export const annotations = { ...placement, ...protocols, ...healthChecks, ...access };

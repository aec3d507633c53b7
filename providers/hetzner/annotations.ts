// Service annotations under load-balancer.hetzner.cloud/.

import {
  address,
  cidrBlock,
  duration,
  flag,
  integer,
  list,
  nodeSelector,
  oneOf,
  seconds,
  text,
  textOrEmpty,
} from "#ccm";
import { scopes } from "./marks.ts";

/** Accepts durations in seconds. */
const orSeconds = { orSeconds: true } as const;
const notNegative = { min: seconds(0) };

const placement = {
  name: text("Name of the load balancer. A load balancer of this name without an owner is adopted."),
  shared: oneOf(
    "Share the load balancer with other Services that have this annotation and the same name, in the same namespace or in the whole cluster. Each has its own ports. Settings of the whole load balancer must be equal.",
    scopes,
  ),
  "node-selector": nodeSelector("Label selector for the Nodes that are targets."),
  type: textOrEmpty(
    "Type of the load balancer, such as lb11. A change applies in place. Without it, new load balancers are lb11. An empty value cancels the default.",
    { defaultFrom: "load-balancers-type" },
  ),
  location: textOrEmpty("Location of a new load balancer. An empty value cancels the default.", {
    defaultFrom: "load-balancers-location",
  }),
  "network-zone": textOrEmpty("Network zone of a new load balancer. An empty value cancels the default.", {
    defaultFrom: "load-balancers-network-zone",
  }),
  "algorithm-type": oneOf("How the load balancer selects a target.", ["round_robin", "least_connections"], {
    anyCase: true,
    defaultFrom: "load-balancers-algorithm-type",
  }),
};

const addresses = {
  hostname: text("Published instead of the addresses."),
  "ipv6-disabled": flag("Leave the IPv6 address out of the status.", {
    defaultFrom: "load-balancers-disable-ipv6",
  }),
  "disable-public-network": flag("Switch the public interface off.", {
    defaultFrom: "load-balancers-disable-public-network",
  }),
  "disable-private-ingress": flag("Leave private addresses out of the status.", {
    defaultFrom: "load-balancers-disable-private-ingress",
  }),
  "use-private-ip": flag("Reach the targets over the private network.", {
    defaultFrom: "load-balancers-use-private-ip",
  }),
  "private-ipv4": address("Address of the load balancer in the private network."),
  "private-subnet-ip-range": cidrBlock("Subnet to which the load balancer is attached. It must exist.", {
    defaultFrom: "load-balancers-private-subnet-ip-range",
  }),
  "ipv4-rdns": text("Reverse DNS name of the IPv4 address."),
  "ipv6-rdns": text("Reverse DNS name of the IPv6 address."),
  // Reserved by the Go manager, without effect.
  ipv4: textOrEmpty("Read-only."),
  ipv6: textOrEmpty("Read-only."),
  id: textOrEmpty("Read-only."),
};

const protocols = ["tcp", "http", "https"] as const;

const ofHTTP = { onlyWith: { protocol: ["http", "https"] } } as const;
const ofHTTPS = { onlyWith: { protocol: ["https"] } } as const;
const managed = { onlyWith: { "certificate-type": ["managed"] } } as const;

const services = {
  protocol: oneOf("Protocol of all ports.", protocols, { fallback: "tcp", anyCase: true }),
  "uses-proxyprotocol": flag("Use the PROXY protocol to the targets.", {
    defaultFrom: "load-balancers-uses-proxyprotocol",
  }),
  "http-cookie-name": text("Name of the cookie for sticky sessions.", ofHTTP),
  "http-cookie-lifetime": duration("Lifetime of the cookie for sticky sessions.", notNegative, {
    ...orSeconds,
    ...ofHTTP,
  }),
  "http-sticky-sessions": flag("Send a client to the same target, by cookie.", ofHTTP),
  "http-redirect-http": flag("Redirect HTTP to HTTPS.", ofHTTPS),
  "http-timeout-idle": duration(
    "Idle timeout of clients and targets.",
    { min: seconds(30), max: seconds(300) },
    { ...orSeconds, ...ofHTTP },
  ),
  "certificate-type": oneOf("Whether certificates are uploaded or managed.", ["uploaded", "managed"], {
    anyCase: true,
  }),
  "http-certificates": list("Names or ids of uploaded certificates."),
  "http-managed-certificate-name": text("Name of the managed certificate.", managed),
  "http-managed-certificate-domains": list("Domains of the managed certificate.", managed),
  "http-managed-certificate-acme-staging": flag("Only for tests by Hetzner.", managed),
};

const healthChecks = {
  "health-check-protocol": oneOf(
    "Protocol of health checks. Default: the protocol of the ports.",
    protocols,
    {
      anyCase: true,
    },
  ),
  "health-check-port": integer("Port of health checks. Default: the node port.", { min: 1, max: 65535 }),
  "health-check-interval": duration("Interval of health checks.", notNegative, {
    ...orSeconds,
    defaultFrom: "load-balancers-health-check-interval",
  }),
  "health-check-timeout": duration("Timeout of a health check.", notNegative, {
    ...orSeconds,
    defaultFrom: "load-balancers-health-check-timeout",
  }),
  "health-check-retries": integer(
    "Number of failures after which a target is unhealthy.",
    { min: 0 },
    { defaultFrom: "load-balancers-health-check-retries" },
  ),
  "health-check-http-domain": text("Host header of HTTP health checks."),
  "health-check-http-path": text("Path of HTTP health checks."),
  "health-check-http-validate-certificate": flag("Verify the certificates of the targets in health checks."),
  "http-status-codes": list("Status codes that a healthy target returns, such as 2??,3??."),
};

export const annotations = { ...placement, ...addresses, ...services, ...healthChecks };

// The annotations of Services, under load-balancer.hetzner.cloud/.

import { flag, integer, list, nodeSelector, oneOf, seconds, text } from "#ccm";
import { anyCase, cidrText, durationOrSeconds, ipText, textOrEmpty } from "./fields.ts";

const placement = {
  name: text("Name of the load balancer. A load balancer of this name without an owner is adopted."),
  "node-selector": nodeSelector("Label selector for the Nodes that are targets."),
  type: text("Type of the load balancer, such as lb11. A change applies in place."),
  location: textOrEmpty("Location of a new load balancer. An empty value cancels the default."),
  "network-zone": textOrEmpty("Network zone of a new load balancer. An empty value cancels the default."),
  "algorithm-type": anyCase(
    oneOf("How the load balancer selects a target.", ["round_robin", "least_connections"]),
  ),
};

const addresses = {
  hostname: text("Published instead of the addresses."),
  "ipv6-disabled": flag("Leave the IPv6 address out of the status."),
  "disable-public-network": flag("Switch the public interface off."),
  "disable-private-ingress": flag("Leave private addresses out of the status."),
  "use-private-ip": flag("Reach the targets over the private network."),
  "private-ipv4": ipText("Address of the load balancer in the private network."),
  "private-subnet-ip-range": cidrText("Subnet to which the load balancer is attached. It must exist."),
  "ipv4-rdns": text("Reverse DNS name of the IPv4 address."),
  "ipv6-rdns": text("Reverse DNS name of the IPv6 address."),
  // Reserved by the Go manager, without effect.
  ipv4: textOrEmpty("Read-only."),
  ipv6: textOrEmpty("Read-only."),
  id: textOrEmpty("Read-only."),
};

const protocols = ["tcp", "http", "https"] as const;

const services = {
  protocol: anyCase(oneOf("Protocol of all ports.", protocols, { fallback: "tcp" })),
  "uses-proxyprotocol": flag("Use the PROXY protocol to the targets."),
  "http-cookie-name": text("Name of the cookie for sticky sessions."),
  "http-cookie-lifetime": durationOrSeconds("Lifetime of the cookie for sticky sessions."),
  "http-sticky-sessions": flag("Send a client to the same target, by cookie."),
  "http-redirect-http": flag("Redirect HTTP to HTTPS. Only with protocol https."),
  "http-timeout-idle": durationOrSeconds("Idle timeout of clients and targets.", {
    min: seconds(30),
    max: seconds(300),
  }),
  "certificate-type": anyCase(
    oneOf("Whether certificates are uploaded or managed.", ["uploaded", "managed"]),
  ),
  "http-certificates": list("Names or ids of uploaded certificates."),
  "http-managed-certificate-name": text("Name of the managed certificate."),
  "http-managed-certificate-domains": list("Domains of the managed certificate."),
  "http-managed-certificate-acme-staging": flag("For tests at Hetzner only."),
};

const healthChecks = {
  "health-check-protocol": anyCase(
    oneOf("Protocol of health checks. Default: that of the ports.", protocols),
  ),
  "health-check-port": integer("Port of health checks. Default: the node port.", { min: 1, max: 65535 }),
  "health-check-interval": durationOrSeconds("Interval of health checks."),
  "health-check-timeout": durationOrSeconds("Timeout of a health check."),
  "health-check-retries": integer("Number of failures after which a target is unhealthy.", { min: 0 }),
  "health-check-http-domain": text("Host header of HTTP health checks."),
  "health-check-http-path": text("Path of HTTP health checks."),
  "health-check-http-validate-certificate": flag("Verify the certificates of the targets in health checks."),
  "http-status-codes": list("Status codes that a healthy target returns, such as 2??,3??."),
};

export const annotations = { ...placement, ...addresses, ...services, ...healthChecks };

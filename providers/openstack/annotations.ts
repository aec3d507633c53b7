// Service annotations under loadbalancer.openstack.org/.

import { flag, integer, nodeSelector, oneOf, text, textOrEmpty } from "#ccm";
import { methods, placement } from "./settings.ts";

export const prefix = "loadbalancer.openstack.org/";
export const internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";

const no = { fallback: false };
/** Octavia cannot change this setting. */
const fixed = { whenChanged: "reject" } as const;
const timeout = { min: 0, max: 31_536_000_000 };
const times = { min: 1, max: 10 };
const seconds = { min: 1 };

export const annotations = {
  [internal]: flag("Give the load balancer no floating IP.", no),
  class: text(
    'A class of the settings, [LoadBalancerClass "name"]. It takes precedence over the annotations of networks.',
  ),
  ...placement,
  "keep-floatingip": flag("Keep the floating IP when the Service is deleted.", no),
  "port-id": text("Existing port with the virtual IP.", fixed),
  "load-balancer-id": text("Id of the load balancer. Set it to share or adopt an existing one."),
  "connection-limit": integer("Connections per listener; -1 is unlimited.", { min: -1 }, { fallback: -1 }),
  "proxy-protocol": oneOf(
    "PROXY protocol to the Nodes: true and v1 are version 1.",
    ["true", "false", "v1", "v2"],
    {
      fallback: "false",
    },
  ),
  "x-forwarded-for": flag("Terminate HTTP, and add the header X-Forwarded-For.", no),
  "lb-method": oneOf("How a member is chosen.", methods),
  "timeout-client-data": integer("Idle time of clients in milliseconds.", timeout, { fallback: 50_000 }),
  "timeout-member-connect": integer("Time to connect to a member in milliseconds.", timeout, {
    fallback: 5000,
  }),
  "timeout-member-data": integer("Idle time of members in milliseconds.", timeout, { fallback: 50_000 }),
  "timeout-tcp-inspect": integer("Time to wait for more TCP packets in milliseconds.", timeout, {
    fallback: 0,
  }),
  "enable-health-monitor": flag("Check the health of members."),
  "health-monitor-delay": integer("Interval of health checks in seconds.", seconds),
  "health-monitor-timeout": integer("Timeout of a health check in seconds.", seconds),
  "health-monitor-max-retries": integer("Successes until a member is up.", times),
  "health-monitor-max-retries-down": integer("Failures until a member is down.", times),
  "flavor-id": textOrEmpty("Flavor of a new load balancer.", fixed),
  "availability-zone": textOrEmpty("Availability zone of a new load balancer.", fixed),
  "default-tls-container-ref": textOrEmpty("URL of the certificate in Barbican. Listeners terminate TLS."),
  "node-selector": nodeSelector("Labels of the Nodes that are members."),
  hostname: text("Published instead of the address."),
};

export type Annotations = typeof annotations;
export type Name = keyof Annotations & string;

export const keyOf = (name: Name): string => (name.includes("/") ? name : prefix + name);

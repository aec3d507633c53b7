// The settings of Hetzner: the environment variables of the Go manager, with its defaults.

import { duration, flag, integer, oneOf, seconds, secret, text } from "#ccm";
import { anyCase, cidrText } from "./fields.ts";

const live = { reload: "live" } as const;

const access = {
  token: secret("The API token of the project.", { env: "HCLOUD_TOKEN" }),
  "token-file": text("A file with the API token. A changed file is read again.", {
    env: "HCLOUD_TOKEN_FILE",
  }),
  endpoint: text("URL of the Hetzner Cloud API.", {
    fallback: "https://api.hetzner.cloud/v1",
    env: "HCLOUD_ENDPOINT",
  }),
  network: text("Name or id of the private network of the cluster.", { env: "HCLOUD_NETWORK" }),
  "network-routes-enabled": flag("Create routes to pods in the private network.", {
    fallback: true,
    env: "HCLOUD_NETWORK_ROUTES_ENABLED",
  }),
};

const instances = {
  "instances-address-family": oneOf("Which public addresses Nodes get.", ["ipv4", "ipv6", "dualstack"], {
    fallback: "ipv4",
    env: "HCLOUD_INSTANCES_ADDRESS_FAMILY",
  }),
  "instances-zone-label-enabled": flag("Set the zone labels of Nodes.", {
    fallback: true,
    env: "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED",
  }),
};

const robot = {
  "robot-enabled": flag("Also manage dedicated servers (Robot). Requires that routes are off.", {
    fallback: false,
    env: "ROBOT_ENABLED",
  }),
  "robot-user": text("User of the Robot web service.", { env: "ROBOT_USER", ...live }),
  "robot-user-file": text("A file with the user of the Robot web service.", { env: "ROBOT_USER_FILE" }),
  "robot-password": secret("Password of the Robot web service.", { env: "ROBOT_PASSWORD" }),
  "robot-password-file": text("A file with the password of the Robot web service.", {
    env: "ROBOT_PASSWORD_FILE",
  }),
  "robot-endpoint": text("URL of the Robot web service, if it is not the public one.", {
    env: "ROBOT_ENDPOINT",
  }),
  "robot-rate-limit-wait-time": duration(
    "How long no request is sent to Robot after it refused one because of its rate limit.",
    { min: seconds(1) },
    { fallback: seconds(300), env: "ROBOT_RATE_LIMIT_WAIT_TIME", ...live },
  ),
  "robot-forward-internal-ips": flag("Keep the InternalIPs that the kubelet of a dedicated server reports.", {
    fallback: true,
    env: "ROBOT_FORWARD_INTERNAL_IPS",
  }),
};

const loadBalancers = {
  "load-balancers-enabled": flag("Manage load balancers.", {
    fallback: true,
    env: "HCLOUD_LOAD_BALANCERS_ENABLED",
  }),
  "load-balancers-location": text("Default location of new load balancers.", {
    env: "HCLOUD_LOAD_BALANCERS_LOCATION",
    ...live,
  }),
  "load-balancers-network-zone": text("Default network zone of new load balancers.", {
    env: "HCLOUD_LOAD_BALANCERS_NETWORK_ZONE",
    ...live,
  }),
  "load-balancers-type": text("Default type of load balancers; without it, new ones are lb11.", {
    env: "HCLOUD_LOAD_BALANCERS_TYPE",
    ...live,
  }),
  "load-balancers-algorithm-type": anyCase(
    oneOf("Default algorithm.", ["round_robin", "least_connections"], {
      env: "HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE",
      ...live,
    }),
  ),
  "load-balancers-disable-private-ingress": flag("Leave private addresses out of the status by default.", {
    fallback: false,
    env: "HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS",
    ...live,
  }),
  "load-balancers-use-private-ip": flag("Reach the targets over the private network by default.", {
    fallback: false,
    env: "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP",
    ...live,
  }),
  "load-balancers-disable-ipv6": flag("Leave IPv6 addresses out of the status by default.", {
    fallback: false,
    env: "HCLOUD_LOAD_BALANCERS_DISABLE_IPV6",
    ...live,
  }),
  "load-balancers-disable-public-network": flag("Switch the public interface off by default.", {
    env: "HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK",
    ...live,
  }),
  "load-balancers-health-check-interval": duration(
    "Default interval of health checks.",
    {},
    { env: "HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL", ...live },
  ),
  "load-balancers-health-check-timeout": duration(
    "Default timeout of a health check.",
    {},
    { env: "HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT", ...live },
  ),
  "load-balancers-health-check-retries": integer(
    "Default number of failed health checks after which a target is unhealthy.",
    { min: 0 },
    { env: "HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES", ...live },
  ),
  "load-balancers-private-subnet-ip-range": cidrText("Default subnet to which load balancers are attached.", {
    env: "HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE",
    ...live,
  }),
  "load-balancers-uses-proxyprotocol": flag("Use the PROXY protocol to the targets by default.", {
    env: "HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL",
    ...live,
  }),
};

/** Accepted, because manifests of the Go manager set them. `check-settings.ts` says why each has no effect. */
const withoutEffect = {
  debug: flag("No effect: -v=4 logs each request.", { env: "HCLOUD_DEBUG" }),
  "network-disable-attached-check": flag(
    "No effect: Fairlead does not require that its own server is in the network.",
    {
      env: "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK",
    },
  ),
  "server-cache-mode": text("No effect: Fairlead chooses between listings and lookups.", {
    env: "HCLOUD_SERVER_CACHE_MODE",
  }),
  "server-cache-max-age": text("No effect: Fairlead decides how old an answer may be.", {
    env: "HCLOUD_SERVER_CACHE_MAX_AGE",
  }),
  "robot-cache-timeout": text("No effect: Fairlead decides how old an answer may be.", {
    env: "ROBOT_CACHE_TIMEOUT",
  }),
  "metrics-enabled": flag("No effect: metrics are on the secure port.", { env: "HCLOUD_METRICS_ENABLED" }),
  "metrics-address": text("No effect: metrics are on the secure port.", { env: "HCLOUD_METRICS_ADDRESS" }),
};

export const config = { ...access, ...instances, ...robot, ...loadBalancers, ...withoutEffect };
export const namesWithoutEffect = Object.keys(withoutEffect) as readonly (keyof typeof withoutEffect)[];

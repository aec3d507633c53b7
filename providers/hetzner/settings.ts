// What operators of Hetzner set: the environment variables of the Go manager, with its defaults. And what problems are called.

import {
  type ConfigProblem,
  declareReasons,
  duration,
  flag,
  integer,
  isSet,
  oneOf,
  operatorDefaults,
  seconds,
  secret,
  text,
  url,
  type Values,
} from "#ccm";
import { annotations } from "./annotations.ts";
import { volumeLabels } from "./volume-labels.ts";

const access = {
  token: secret("The API token of the project.", {
    env: "HCLOUD_TOKEN",
    file: { env: "HCLOUD_TOKEN_FILE", required: "the API token of the project" },
  }),
  endpoint: url("URL of the Hetzner Cloud API.", {
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
  "robot-user": text("User of the Robot web service.", {
    env: "ROBOT_USER",
    file: { env: "ROBOT_USER_FILE" },
    reload: "live",
  }),
  "robot-password": secret("Password of the Robot web service.", {
    env: "ROBOT_PASSWORD",
    file: { env: "ROBOT_PASSWORD_FILE" },
  }),
  "robot-endpoint": url("URL of the Robot web service, if it is not the public one.", {
    env: "ROBOT_ENDPOINT",
  }),
  "robot-rate-limit-wait-time": duration(
    "How long no request is sent to Robot after it refused one because of its rate limit.",
    {},
    { fallback: seconds(300), env: "ROBOT_RATE_LIMIT_WAIT_TIME", reload: "live" },
  ),
  "robot-forward-internal-ips": flag("Keep the InternalIPs that the kubelet of a dedicated server reports.", {
    fallback: true,
    env: "ROBOT_FORWARD_INTERNAL_IPS",
  }),
};

const defaults = operatorDefaults(annotations, "HCLOUD_");

/** For the Go manager, zero means that there is no default. It accepts negative values too, and the cloud then refuses each port. */
export const healthCheckDefaults = [
  "load-balancers-health-check-interval",
  "load-balancers-health-check-timeout",
  "load-balancers-health-check-retries",
] as const;
const [interval, timeout, retries] = healthCheckDefaults;
const anyDuration = duration("", {}, { orSeconds: true });
const anyInteger = integer("");
const lenientDefaults = {
  [interval]: { ...defaults[interval], expects: anyDuration.expects, parse: anyDuration.parse },
  [timeout]: { ...defaults[timeout], expects: anyDuration.expects, parse: anyDuration.parse },
  [retries]: { ...defaults[retries], expects: anyInteger.expects, parse: anyInteger.parse },
};

const loadBalancers = {
  "load-balancers-enabled": flag("Manage load balancers.", {
    fallback: true,
    env: "HCLOUD_LOAD_BALANCERS_ENABLED",
  }),
  ...defaults,
  ...lenientDefaults,
  "load-balancers-location": {
    ...defaults["load-balancers-location"],
    exclusiveWith: "load-balancers-network-zone",
  },
};

const volumes = {
  "volumes-default-location": text("Location of volumes whose claim does not wait for a pod.", {
    env: "HCLOUD_VOLUME_DEFAULT_LOCATION",
  }),
  "volumes-extra-labels": volumeLabels("Labels of all volumes.", "HCLOUD_VOLUME_EXTRA_LABELS"),
};

const ineffective = { ineffective: true } as const;

/** Accepted, because manifests of the Go manager set them. */
const withoutEffect = {
  debug: flag("-v=4 logs each request.", { env: "HCLOUD_DEBUG", ...ineffective }),
  "network-disable-attached-check": flag("Fairlead does not require that its own server is in the network.", {
    env: "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK",
    ...ineffective,
  }),
  "server-cache-mode": text("Fairlead chooses between listings and lookups.", {
    env: "HCLOUD_SERVER_CACHE_MODE",
    ...ineffective,
  }),
  "server-cache-max-age": text("Fairlead decides how old an answer may be.", {
    env: "HCLOUD_SERVER_CACHE_MAX_AGE",
    ...ineffective,
  }),
  "robot-cache-timeout": text("Fairlead decides how old an answer may be.", {
    env: "ROBOT_CACHE_TIMEOUT",
    ...ineffective,
  }),
  "metrics-enabled": flag("Metrics are on the secure port.", {
    env: "HCLOUD_METRICS_ENABLED",
    ...ineffective,
  }),
  "metrics-address": text("Metrics are on the secure port.", {
    env: "HCLOUD_METRICS_ADDRESS",
    ...ineffective,
  }),
};

export const config = { ...access, ...instances, ...robot, ...loadBalancers, ...volumes, ...withoutEffect };
export type Settings = Values<typeof config>;

/** Checks that involve several settings. Pure. */
export function checkSettings(settings: Settings): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const error = (key: keyof Settings & string, text: string) =>
    problems.push({ severity: "error", reason: "InvalidSetting", key, text });
  const warn = (key: keyof Settings & string, text: string) =>
    problems.push({ severity: "warning", reason: "InvalidSetting", key, text });

  const { token, network } = settings;
  const length = token?.reveal().length ?? 64;
  if (length !== 64)
    warn("token", `HCLOUD_TOKEN has ${length} characters, but tokens have 64. It is used as it is`);
  for (const name of healthCheckDefaults) {
    if ((settings[name] ?? 0) >= 0) continue;
    warn(name, `${config[name].env} is negative, so it is ignored. Remove it, or set a positive value`);
  }
  if (settings["load-balancers-use-private-ip"] && network === undefined) {
    warn(
      "load-balancers-use-private-ip",
      "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP requires HCLOUD_NETWORK, which is not set. Load balancers get no targets",
    );
  }
  if (!settings["robot-enabled"]) return problems;
  const [hasUser, hasPassword] = [isSet(settings, "robot-user"), isSet(settings, "robot-password")];
  if (hasUser !== hasPassword) {
    error("robot-user", "ROBOT_USER and ROBOT_PASSWORD must be set together, or neither of them");
  }
  if (!hasUser && !hasPassword) {
    warn(
      "robot-user",
      "Robot support is enabled without credentials. Nodes of dedicated servers are neither initialized nor deleted, and are targets of load balancers only with use-private-ip, by their InternalIP. To manage them, set ROBOT_USER and ROBOT_PASSWORD",
    );
  }
  if (network !== undefined && settings["network-routes-enabled"]) {
    error(
      "robot-enabled",
      "ROBOT_ENABLED cannot be combined with routes in HCLOUD_NETWORK. Set HCLOUD_NETWORK_ROUTES_ENABLED=false",
    );
  }
  return problems;
}

/** Whether the credentials of the Robot web service are set. */
export function hasRobotAccess(settings: Settings): boolean {
  return settings["robot-enabled"] && isSet(settings, "robot-user");
}

/** The reasons of problems that only Hetzner has. Those of the Go manager have its names. */
export const reasons = declareReasons({
  CertificateIssuanceFailed:
    "Hetzner could not issue the managed certificate. Check that the domains use Hetzner's DNS, then delete the certificate.",
  InternalIPNotConfigured:
    "The private network is requested, and a dedicated server has no InternalIP. It is reached by its public address, or is no target if Robot has no credentials. Start its kubelet with --node-ip.",
  LoadBalancerProtected:
    "Deletion protection is on, so the load balancer stays, without an owner. Delete it in the console if it is not needed.",
  LoadBalancerTypeDeprecated: "The type of the load balancer is deprecated. Choose another one.",
  LocationMissing:
    "Neither a location nor a network zone is set. Set one by annotation or environment variable.",
  RobotAddressUnknown:
    "Robot has not answered, so the public address of a dedicated server is unknown. It is added as a target when Robot answers.",
});

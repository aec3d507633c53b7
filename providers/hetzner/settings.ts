// Settings of Hetzner operators: the Go manager's environment variables, with its defaults, and the names of problems.

import {
  applicable,
  declareReasons,
  duration,
  flag,
  integer,
  isSet,
  oneOf,
  operatorDefaults,
  type Problem,
  seconds,
  secret,
  settingError,
  settingWarning,
  text,
  url,
  type Values,
  withVariables,
} from "#ccm";
import { annotations } from "./annotations.ts";
import { volumeLabels } from "./volume-labels.ts";

const on = { fallback: true } as const;

const access = withVariables("HCLOUD_", {
  token: secret("The API token of the project.", {
    file: { env: "HCLOUD_TOKEN_FILE", required: "the API token of the project" },
  }),
  endpoint: url("URL of the Hetzner Cloud API.", { fallback: "https://api.hetzner.cloud/v1" }),
  network: text("Name or id of the private network of the cluster."),
  "network-routes-enabled": flag("Create routes to pods in the private network.", on),
});

const instances = withVariables("HCLOUD_", {
  "instances-address-family": oneOf("Which public addresses Nodes get.", ["ipv4", "ipv6", "dualstack"], {
    fallback: "ipv4",
  }),
  "instances-zone-label-enabled": flag("Set the zone labels of Nodes.", on),
});

const robot = withVariables("", {
  "robot-enabled": flag("Also manage dedicated servers (Robot). Requires that routes are off.", {
    fallback: false,
  }),
  "robot-user": text("User of the Robot web service.", { file: { env: "ROBOT_USER_FILE" }, reload: "live" }),
  "robot-password": secret("Password of the Robot web service.", { file: { env: "ROBOT_PASSWORD_FILE" } }),
  "robot-endpoint": url("URL of the Robot web service, if it is not the public one."),
  "robot-rate-limit-wait-time": duration(
    "How long no request is sent to Robot after it refused one because of its rate limit.",
    {},
    { fallback: seconds(300), reload: "live" },
  ),
  "robot-forward-internal-ips": flag(
    "Keep the InternalIPs that the kubelet of a dedicated server reports.",
    on,
  ),
});

const defaults = operatorDefaults(annotations, "HCLOUD_");

/**
 * For the Go manager, zero means no default. It accepts negative values, with which the cloud then rejects each
 * port.
 */
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
  ...withVariables("HCLOUD_", { "load-balancers-enabled": flag("Manage load balancers.", on) }),
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

const ignored = { ineffective: true } as const;
const freshness = "Fairlead decides how old an answer may be.";
const secure = "Metrics are on the secure port.";

/** Accepted, because manifests of the Go manager set them. */
const withoutEffect = withVariables("HCLOUD_", {
  debug: flag("-v=4 logs each request.", ignored),
  "network-disable-attached-check": flag(
    "Fairlead does not require that its own server is in the network.",
    ignored,
  ),
  "server-cache-mode": text("Fairlead chooses between listings and lookups.", ignored),
  "server-cache-max-age": text(freshness, ignored),
  "robot-cache-timeout": text(freshness, { ...ignored, env: "ROBOT_CACHE_TIMEOUT" }),
  "metrics-enabled": flag(secure, ignored),
  "metrics-address": text(secure, ignored),
});

export const config = { ...access, ...instances, ...robot, ...loadBalancers, ...volumes, ...withoutEffect };
export type Settings = Values<typeof config>;

/** Checks that involve several settings. Pure. */
export function checkSettings(settings: Settings): readonly Problem[] {
  const { token, network } = settings;
  const length = token?.reveal().length ?? 64;
  const otherLength = `HCLOUD_TOKEN has ${length} characters, but tokens have 64. It is used as it is`;
  const isPrivate = settings["load-balancers-use-private-ip"] === true;
  return applicable(
    length !== 64 && settingWarning("token", otherLength),
    ...healthCheckDefaults.map((name) => {
      const text = `${config[name].env} is negative, so it is ignored. Remove it, or set a positive value`;
      return (settings[name] ?? 0) < 0 && settingWarning(name, text);
    }),
    isPrivate && network === undefined && settingWarning("load-balancers-use-private-ip", noNetwork),
    ...(settings["robot-enabled"] ? robotProblems(settings) : []),
  );
}

const noNetwork =
  "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP requires HCLOUD_NETWORK, which is not set. Load balancers get no targets";
const halfAccess = "ROBOT_USER and ROBOT_PASSWORD must be set together, or neither of them";
const noAccess =
  "Robot support is enabled without credentials. Nodes of dedicated servers are neither initialized nor deleted, and are targets of load balancers only with use-private-ip, by their InternalIP. To manage them, set ROBOT_USER and ROBOT_PASSWORD";
const notWithRoutes =
  "ROBOT_ENABLED cannot be combined with routes in HCLOUD_NETWORK. Set HCLOUD_NETWORK_ROUTES_ENABLED=false";

function robotProblems(settings: Settings): readonly Problem[] {
  const [hasUser, hasPassword] = [isSet(settings, "robot-user"), isSet(settings, "robot-password")];
  return applicable(
    hasUser !== hasPassword && settingError("robot-user", halfAccess),
    !hasUser && !hasPassword && settingWarning("robot-user", noAccess),
    settings.network !== undefined &&
      settings["network-routes-enabled"] &&
      settingError("robot-enabled", notWithRoutes),
  );
}

/** Whether the credentials of the Robot web service are set. */
export function hasRobotAccess(settings: Settings): boolean {
  return settings["robot-enabled"] && isSet(settings, "robot-user");
}

/** Problem reasons that only Hetzner has. The reasons for certificates have the Go manager's names. */
export const reasons = declareReasons({
  CertificateIssuanceFailed:
    "Hetzner could not issue the managed certificate. Check that the domains use Hetzner's DNS, then delete the certificate.",
  InternalIPNotConfigured:
    "The Service uses the private network, but a dedicated server has no InternalIP. The load balancer reaches the server by its public address, or drops it as a target if no Robot credentials are set. Start its kubelet with --node-ip.",
  LoadBalancerProtected:
    "Deletion protection is enabled, so the load balancer stays without an owner. Delete it in the console if it is not needed.",
  LoadBalancerTypeDeprecated: "The load balancer type is deprecated. Choose a supported type.",
  LocationMissing:
    "Neither a location nor a network zone is set. Set one of them as an annotation or environment variable.",
  SharedSettingsDiffer:
    "A setting of the whole load balancer differs from the value of other Services, or of another program, that use the load balancer. Set the same value everywhere.",
  SharedTargetsKept:
    "The load balancer keeps targets that this Service does not need, because the needs of another Service that shares it are unknown, for example because that Service is paused. End the pause, or correct that Service.",
  SharingRefused:
    "The Service may not (or no longer) share the load balancer that it names. Set the annotation shared on all its Services, or use a different name.",
  RobotAddressUnknown:
    "Robot has not answered, so the public address of a dedicated server is unknown. The server becomes a target when Robot answers.",
});

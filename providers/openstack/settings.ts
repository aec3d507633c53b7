// OpenStack settings: the keys in the Go manager's `cloud.conf`, with its defaults, the OpenStack clients' environment
// variables, and the problem reasons.

import {
  applicable,
  cidrList,
  declareReasons,
  duration,
  flag,
  integer,
  missingSetting,
  nodeSelector,
  oneOf,
  type Problem,
  records,
  repeated,
  seconds,
  secret,
  settingError,
  settingWarning,
  text,
  url,
  type Values,
} from "#ccm";

const live = { reload: "live" } as const;
const off = { fallback: false } as const;
const networks = "names of networks, one per line";
const ineffective = (what: string) => text(what, { ineffective: true });
const liveFlag = (what: string) => flag(what, { ...off, ...live });
const liveTime = (what: string, fallback: number) =>
  duration(what, { min: seconds(1) }, { fallback: seconds(fallback), ...live });
const liveCount = (what: string, fallback: number) =>
  integer(what, { min: 1, max: 10 }, { fallback, ...live });

export const access = {
  "auth-url": url("URL of Keystone.", { example: "https://keystone.example:5000/v3", env: "OS_AUTH_URL" }),
  region: text("Region. Required if the service catalog has several.", { env: "OS_REGION_NAME" }),
  "os-endpoint-type": oneOf(
    "Interface of the endpoints.",
    ["public", "internal", "admin", "publicURL", "internalURL", "adminURL"],
    { fallback: "public", env: "OS_INTERFACE" },
  ),
  username: text("User name.", { env: "OS_USERNAME", ...live }),
  "user-id": text("User id, instead of name and domain.", { env: "OS_USER_ID", ...live }),
  password: secret("The user's password.", { env: "OS_PASSWORD" }),
  "tenant-id": text("Project id.", { env: "OS_PROJECT_ID" }),
  "tenant-name": text("Project name.", { env: "OS_PROJECT_NAME" }),
  "domain-id": text("Domain id of both the user and the project.", { env: "OS_DOMAIN_ID" }),
  "domain-name": text("Domain name of both the user and the project.", { env: "OS_DOMAIN_NAME" }),
  "user-domain-id": text("Id of the user's domain.", { env: "OS_USER_DOMAIN_ID" }),
  "user-domain-name": text("Name of the user's domain.", { env: "OS_USER_DOMAIN_NAME" }),
  "tenant-domain-id": text("Id of the project's domain.", { env: "OS_PROJECT_DOMAIN_ID" }),
  "tenant-domain-name": text("Name of the project's domain.", { env: "OS_PROJECT_DOMAIN_NAME" }),
  "application-credential-id": text("Id of an application credential.", {
    env: "OS_APPLICATION_CREDENTIAL_ID",
    ...live,
  }),
  "application-credential-name": text(
    "Name of the application credential, instead of its id. Requires the user.",
    {
      env: "OS_APPLICATION_CREDENTIAL_NAME",
      ...live,
    },
  ),
  "application-credential-secret": secret("Secret of the application credential.", {
    env: "OS_APPLICATION_CREDENTIAL_SECRET",
  }),
  "trust-id": text("Id of a trust. Its trustee is the user.", { env: "OS_TRUST_ID" }),
  "trustee-id": text("Id of the trustee, instead of user-id.", live),
  "trustee-password": secret("Password of the trustee, instead of password."),
  token: secret("A token. It cannot be renewed: use it for trials only.", { env: "OS_TOKEN" }),
  "ca-file": text("A file with the CA certificates of the services.", { env: "OS_CACERT" }),
  "cert-file": text("A file with a client certificate.", { env: "OS_CERT" }),
  "key-file": text("A file with the key of the client certificate.", { env: "OS_KEY" }),
  "tls-insecure": flag("Do not verify certificates.", off),
  "use-clouds": flag("Read settings that are not set here from clouds.yaml.", off),
  "clouds-file": text("Path of clouds.yaml.", {
    fallback: "/etc/openstack/clouds.yaml",
    env: "OS_CLIENT_CONFIG_FILE",
  }),
  cloud: text("Name of the cloud in clouds.yaml.", { env: "OS_CLOUD" }),
};

/** Sections with further regions and projects. Other credentials are in `clouds.yaml`, so that no secret is repeated here. */
export const scope = {
  name: text("Name of the scope, in messages and metrics.", { required: true }),
  region: text(
    "Region of the scope. Default: the region of the clouds.yaml entry in cloud, otherwise of [Global].",
  ),
  "tenant-id": text("Id of the scope's project, if the user of [Global] is a member of several projects."),
  cloud: text("Entry of the scope in clouds.yaml. Its credentials replace the credentials of [Global]."),
};

const global = {
  ...access,
  "regional-provider-ids": flag("Write ids as openstack://region/id.", { ...off, env: "OS_CCM_REGIONAL" }),
};

const networking = {
  "ipv6-support-disabled": flag("Leave IPv6 addresses out.", off),
  "public-network-name": repeated("Networks whose addresses are ExternalIPs.", networks),
  "internal-network-name": repeated("The only networks with InternalIPs. Default: all.", networks),
  "address-sort-order": cidrList("Ranges whose addresses come first, in this order."),
};

const metadata = {
  "search-order": ineffective("Fairlead never reads the metadata of the machine that it runs on."),
  "request-timeout": ineffective("Each request has its own deadline."),
};

const routes = {
  "router-id": text("The router of the routes to pods. If unset, no routes are managed.", {
    env: "OS_ROUTER_ID",
  }),
};

/** The source of the virtual IP and the floating IP of a load balancer: in the settings, in a class, and in annotations. */
export const placement = {
  "floating-network-id": text("External network of floating IPs. Default: the only external network.", live),
  "floating-subnet-id": text("Subnet of floating IPs.", live),
  "floating-subnet": text(
    "Name of the subnet of floating IPs: a pattern with * and ?, a regular expression after ~, or ! to exclude.",
    live,
  ),
  "floating-subnet-tags": text("Tags of the subnet of floating IPs, separated by commas; ! excludes.", live),
  "network-id": text("Network of the virtual IP.", live),
  "subnet-id": text("Subnet of the virtual IP. Default: the subnet of the Nodes.", live),
  "member-subnet-id": text("Subnet of the members. Default: the subnet of the virtual IP.", live),
};

export const balancerClass = { name: text("Name of the class.", { required: true }), ...placement };

export const methods = ["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"] as const;

const balancers = {
  "load-balancers-enabled": flag("Manage load balancers: enabled in [LoadBalancer].", { fallback: true }),
  "lb-version": oneOf("Version of the load balancer API.", ["v2"], { fallback: "v2" }),
  "lb-provider": text("Octavia provider: amphora, ovn and others.", { fallback: "amphora" }),
  "lb-method": oneOf(
    "Default for the annotation lb-method. Default: SOURCE_IP_PORT with ovn, otherwise ROUND_ROBIN.",
    methods,
    live,
  ),
  ...placement,
  "manage-security-groups": liveFlag("Open node ports in a security group per Service."),
  "create-monitor": liveFlag("Default for the annotation enable-health-monitor."),
  "monitor-delay": liveTime("Interval of health checks.", 5),
  "monitor-timeout": liveTime("Timeout of a health check.", 3),
  "monitor-max-retries": liveCount("Successes until a member is up.", 1),
  "monitor-max-retries-down": liveCount("Failures until a member is down.", 3),
  "internal-lb": liveFlag("Give no load balancer a floating IP."),
  "node-selector": nodeSelector("Default for the annotation node-selector.", live),
  "cascade-delete": flag("Delete load balancers in one request.", { fallback: true, ...live }),
  "flavor-id": text("Default for the annotation flavor-id.", live),
  "availability-zone": text("Default for the annotation availability-zone.", live),
  "enable-ingress-hostname": liveFlag("Publish a host name instead of the address with the PROXY protocol."),
  "ingress-hostname-suffix": text("Domain of the published host name.", { fallback: "nip.io", ...live }),
  "default-tls-container-ref": text("Default for the annotation default-tls-container-ref.", live),
  "container-store": ineffective("Certificates are not looked up: Octavia reads them."),
  "max-shared-lb": integer("Services that may share a load balancer.", { min: 1 }, { fallback: 2, ...live }),
  "provider-requires-serial-api-calls": liveFlag("Create load balancers part by part."),
};

const volumes = {
  "ignore-volume-az": flag(
    "Let volumes be used in every zone, because Cinder and Nova have different zones.",
    off,
  ),
  "node-volume-attach-limit": ineffective(
    "Nova rejects attachments beyond its own limit; the volume stays unattached, and Fairlead retries.",
  ),
  "rescan-on-resize": ineffective("A Node waits until it sees the new size of a disk."),
  "ignore-volume-microversion": ineffective("Cinder 3.42 (Pike) is required."),
};

/** The sections of `cloud.conf`. */
export const sections = {
  Global: global,
  Networking: networking,
  Metadata: metadata,
  Route: routes,
  LoadBalancer: balancers,
  BlockStorage: volumes,
};

export const config = {
  ...global,
  ...networking,
  ...metadata,
  ...routes,
  ...balancers,
  ...volumes,
  scopes: records(
    'Further regions and projects, whose servers are Nodes too: [Scope "name"]. Load balancers, routes and volumes are in the region and project of [Global].',
    scope,
    { unique: "name", fallback: [] },
  ),
  "load-balancer-classes": records(
    'Named placements for the annotation class: [LoadBalancerClass "name"].',
    balancerClass,
    { unique: "name", fallback: [], ...live },
  ),
};
export type Settings = Values<typeof config>;
export type Placement = Values<typeof placement>;
export type Scope = Values<typeof scope>;

const ofOVN = "SOURCE_IP_PORT";
const missingCredentials =
  "no credentials are set. Set application-credential-id and application-credential-secret, or username and password, or use-clouds";
const missingURL = "auth-url (OS_AUTH_URL) is required: the URL of Keystone. Set it, or use-clouds";

const unverified = "the certificates of the services are not verified. Set ca-file instead";

/** Checks that involve several settings. Pure. */
export function checkSettings(settings: Settings): readonly Problem[] {
  const { "auth-url": authUrl, "lb-provider": provider, "lb-method": method = ofOVN } = settings;
  const secrets = ["password", "token", "application-credential-secret", "trustee-password"] as const;
  const hasNone = secrets.every((name) => settings[name] === undefined);
  const usesFile = usesClouds(settings);
  const notOVN = `lb-method is ${method}, but the provider ovn has SOURCE_IP_PORT only. Remove lb-method`;
  return applicable(
    !usesFile && authUrl === undefined && missingSetting("auth-url", missingURL),
    !usesFile && hasNone && missingSetting("application-credential-secret", missingCredentials),
    settings["tls-insecure"] && settingWarning("tls-insecure", unverified),
    provider === "ovn" && method !== ofOVN && settingError("lb-method", notOVN),
  );
}

export const sectionOf = (scope: string): string => `[Scope ${JSON.stringify(scope)}]`;
export const usesClouds = (settings: Settings): boolean =>
  settings["use-clouds"] || settings.cloud !== undefined;

export const reasons = declareReasons({
  LoadBalancerErrored:
    "Octavia could not set up the load balancer. Fairlead recreates a new load balancer; an administrator must fail over an existing one.",
  LoadBalancerExternalNetworkSearchFailed:
    "The external network for floating IPs is ambiguous. The load balancer stays internal. Set floating-network-id.",
  LoadBalancerForcedInternal:
    "There is no external network, so the load balancer has no floating IP. Set floating-network-id.",
  LoadBalancerSourceRangesIgnored:
    "The Octavia provider cannot restrict clients. Remove spec.loadBalancerSourceRanges, or use a different Octavia provider.",
});

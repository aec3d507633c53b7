// AWS settings: the keys in the Go manager's configuration file, its flags, and the AWS SDKs' environment variables.

import {
  applicable,
  type ConfigFile,
  entries,
  flag,
  integer,
  missingSetting,
  oneOf,
  type Problem,
  pairs,
  readGcfg,
  records,
  repeated,
  secret,
  settingError,
  settingWarning,
  text,
  url,
  type Values,
  withVariables,
} from "#ccm";

const live = { reload: "live" } as const;

const place = {
  region: text("Region of the cluster. Default: the region of the zone, of the profile or of this machine.", {
    env: "AWS_REGION",
  }),
  zone: text("Zone of this machine, from which only the region is derived; set region instead."),
  vpc: text("VPC of the cluster. Default: the VPC of this machine.", { env: "AWS_VPC_ID" }),
  "subnet-id": text(
    "Subnet of load balancers if no subnet has the tags. Default: the subnet of this machine.",
    { env: "AWS_SUBNET_ID" },
  ),
  "route-table-id": text("Route table of the cluster. Default: the route table with the cluster tag."),
  "kubernetes-cluster-id": text(
    "Id of the cluster. The objects of the cluster have the tag kubernetes.io/cluster/ID. Default: the id in the tags of this machine.",
    { env: "AWS_CLUSTER_ID" },
  ),
  "kubernetes-cluster-tag": text("Id of the cluster in the former tag, KubernetesCluster=ID."),
};

const ineffective = (what: string, flag?: string) =>
  text(what, { ineffective: true, ...(flag !== undefined && { flag }) });

/** The services that Fairlead calls, by the Go manager's names. */
const services: readonly string[] = ["EC2", "Elastic Load Balancing", "Elastic Load Balancing v2"];

/** The name of a section: `[ServiceOverride "name"]`. */
const override = {
  name: text("Name of the section."),
  service: text("Name of the service: EC2, Elastic Load Balancing, or Elastic Load Balancing v2.", {
    required: true,
  }),
  region: text("Region in which this endpoint is used.", { required: true }),
  url: url("URL of the service.", { required: true, example: "https://ec2.example.com" }),
  "signing-region": text("Region of signatures.", { required: true }),
  "signing-name": text("Name of the service in signatures."),
  "signing-method": ineffective("Signatures have version 4."),
};

const access = {
  "role-arn": text("A role to assume for all requests.", live),
  "source-arn": text("ARN of the resource on whose behalf the role is assumed.", live),
  "service-overrides": records('Other endpoints: [ServiceOverride "name"].', override, { fallback: [] }),
  ...withVariables("AWS_", {
    // Stored with the key, so that manifests read both from one Secret.
    "access-key-id": secret("Id of an access key."),
    "secret-access-key": secret("The access key."),
    "session-token": secret("Token of a temporary access key."),
    profile: text("Profile in the shared files.", live),
    "shared-credentials-file": text("Shared file with access keys. Default: ~/.aws/credentials.", live),
    "shared-config-file": text("Shared file with profiles. Default: ~/.aws/config.", {
      env: "AWS_CONFIG_FILE",
      ...live,
    }),
    home: text("The folder that contains .aws with the shared files.", { env: "HOME", ...live }),
    "web-identity-role-arn": text("The role of a web identity.", { env: "AWS_ROLE_ARN", ...live }),
    "web-identity-token-file": text("A file with the token of a web identity.", live),
    "role-session-name": text("Name of sessions with assumed roles.", { fallback: "fairlead", ...live }),
  }),
  "container-credentials-path": text("Path of the ECS task's credentials.", {
    env: "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    ...live,
  }),
  "container-credentials-url": url("URL of the container's credentials.", {
    env: "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ...live,
  }),
  "container-token": secret("Token for the URL of the container credentials.", {
    env: "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  }),
  "container-token-file": text("A file with the token for the URL of the container credentials.", {
    env: "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    ...live,
  }),
  "metadata-endpoint": url("URL of the instance metadata service.", {
    fallback: "http://169.254.169.254",
    env: "AWS_EC2_METADATA_SERVICE_ENDPOINT",
  }),
  "metadata-disabled": flag("Never ask the instance metadata service.", {
    fallback: false,
    env: "AWS_EC2_METADATA_DISABLED",
  }),
  endpoint: url("URL of all services. Default: the URLs of the region.", { env: "AWS_ENDPOINT_URL" }),
  "sts-endpoint": url("URL of the security token service. Default: the URL of the region.", {
    env: "AWS_ENDPOINT_URL_STS",
    ...live,
  }),
};

const nodes = {
  "node-ip-families": repeated(
    "IP families of Node addresses, in this order: ipv4, ipv6.",
    "ipv4 or ipv6, one per line",
  ),
  "supported-topology-instance-type-pattern": text(
    "Instance types whose Nodes get topology labels, as a regular expression.",
    { fallback: "^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\\.[0-9a-z]*)$" },
  ),
};

const together = (flag: string) => ineffective("Machines are tagged together.", flag);
const tagging = {
  tags: pairs("Tags that the controller tagging gives to the machines of Nodes.", { flag: "tags", ...live }),
  resources: entries(
    "Objects that get these tags.",
    "instance",
    (one) => (one === "instance" ? one : undefined),
    {
      flag: "resources",
    },
  ),
  "tagging-controller-rate-limit": together("tagging-controller-rate-limit"),
  "tagging-controller-burst-limit": together("tagging-controller-burst-limit"),
  "tagging-controller-concurrent-node-syncs": together("tagging-controller-concurrent-node-syncs"),
  "tagging-controller-enable-batching": together("tagging-controller-enable-batching"),
};

const balancers = {
  "disable-security-group-ingress": flag("Do not change the security groups of Nodes.", {
    fallback: false,
    ...live,
  }),
  "elb-security-group": text("Security group of all classic load balancers, instead of one for each."),
  "nlb-security-group-mode": oneOf("Managed: network load balancers get a security group each.", ["Managed"]),
  "cluster-service-load-balancer-health-probe-mode": oneOf(
    "What is checked for Services with externalTrafficPolicy Cluster: each port, or kube-proxy (Shared).",
    ["ServiceNodePort", "Shared"],
    { fallback: "ServiceNodePort", ...live },
  ),
  "cluster-service-shared-load-balancer-health-probe-port": integer(
    "Port of kube-proxy's health check.",
    { min: 1, max: 65_535 },
    { fallback: 10_256, ...live },
  ),
  "cluster-service-shared-load-balancer-health-probe-path": text("Path of kube-proxy's health check.", {
    fallback: "/healthz",
    ...live,
  }),
};

/** Tags that Fairlead and the Go driver give to volumes. */
export const isReservedTag = (key: string): boolean =>
  /^(CSIVolumeName|CSIVolumeSnapshotName|kubernetes\.io.*|ebs\.csi\.aws\.com\/.*)?$/.test(key);

const volumes = {
  "volumes-extra-tags": pairs("Further tags of new volumes: --extra-tags of the Go driver.", live),
};

export const config = { ...place, ...access, ...nodes, ...tagging, ...balancers, ...volumes };
export type Settings = Values<typeof config>;

/** The setting of a key in the file, in which words are not separated. */
const settingOfKey = new Map(
  [...Object.keys(config), ...Object.keys(override)].map((name) => [name.replaceAll("-", ""), name]),
);

export function readConfigFile(text: string): ConfigFile {
  return readGcfg(text, {
    sections: { Global: config },
    records: [{ section: "ServiceOverride", setting: "service-overrides", entry: override }],
    nameOf: (key) => settingOfKey.get(key) ?? key,
    example: "Region = us-west-2",
    ignoresUnknown: true,
  });
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

type Override = Settings["service-overrides"][number];

function overrideProblems(overrides: readonly Override[]): readonly Problem[] {
  return overrides.flatMap(({ service, region }, index) => {
    const unknown = `a section [ServiceOverride] is for the service ${JSON.stringify(service)}, which Fairlead does not call, so it has no effect. The services are ${services.join(", ")}`;
    const repeated = `two sections [ServiceOverride] are for ${service} in ${region}. Remove one of them`;
    const isSame = (one: Override) => one.service === service && one.region === region;
    return applicable(
      !services.includes(service) && settingWarning("service-overrides", unknown),
      overrides.findIndex(isSame) < index && settingError("service-overrides", repeated),
    );
  });
}

const halfKey =
  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed together, and only one of them is set. Set both, or none";
const noRole = "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN. Set the role that the token is for";
const noSource = "SourceARN has no effect without RoleARN. Set RoleARN, or remove it";
const withoutMetadata =
  "is required where the instance metadata service is disabled (AWS_EC2_METADATA_DISABLED)";

/** Checks that involve several settings, or values that the table does not know. Pure. */
export function checkSettings(settings: Settings): readonly Problem[] {
  const id = settings["kubernetes-cluster-id"];
  const tag = settings["kubernetes-cluster-tag"];
  const patternName = "supported-topology-instance-type-pattern";
  const pattern = settings[patternName];
  const isSet = (...names: readonly (keyof Settings)[]) => names.some((name) => settings[name] !== undefined);
  const isOff = settings["metadata-disabled"];
  const families = (settings["node-ip-families"] ?? []).filter((one) => one !== "ipv4" && one !== "ipv6");
  const reserved = [...(settings["volumes-extra-tags"]?.keys() ?? [])].filter(isReservedTag);
  const noPattern = `SupportedTopologyInstanceTypePattern must be a regular expression, got ${JSON.stringify(pattern)}`;
  const two = `KubernetesClusterID is ${JSON.stringify(id)}, and KubernetesClusterTag is ${JSON.stringify(tag)}. They name the same cluster: set them to the same value, or remove one`;
  return [
    ...overrideProblems(settings["service-overrides"]),
    ...families.map((family) =>
      settingError("node-ip-families", `NodeIPFamilies must be ipv4 or ipv6, got ${JSON.stringify(family)}`),
    ),
    ...reserved.map((key) =>
      settingError(
        "volumes-extra-tags",
        `the tag ${JSON.stringify(key)} is one that Fairlead gives to volumes. Remove it`,
      ),
    ),
    ...applicable(
      !isPattern(pattern) && settingError(patternName, noPattern),
      id !== undefined && tag !== undefined && id !== tag && settingError("kubernetes-cluster-tag", two),
      isSet("access-key-id") !== isSet("secret-access-key") && missingSetting("secret-access-key", halfKey),
      isSet("web-identity-token-file") &&
        !isSet("web-identity-role-arn") &&
        missingSetting("web-identity-role-arn", noRole),
      isSet("source-arn") && !isSet("role-arn") && settingWarning("source-arn", noSource),
      isOff && !isSet("region", "zone", "profile") && missingSetting("region", `Region ${withoutMetadata}`),
      isOff && !isSet("vpc") && missingSetting("vpc", `VPC ${withoutMetadata}`),
      isOff &&
        id === undefined &&
        tag === undefined &&
        missingSetting("kubernetes-cluster-id", `KubernetesClusterID ${withoutMetadata}`),
    ),
  ];
}

// vSphere settings: the keys in the Go manager's `vsphere.conf`, with its defaults and environment variables.

import {
  cidrList,
  entries,
  flag,
  integer,
  list,
  type ParsedField,
  pairs,
  records,
  secret,
  text,
  type Values,
  withVariables,
} from "#ccm";
import type { AddressRules, Family } from "./addresses.ts";
import type { Categories } from "./zones.ts";

const live = { reload: "live" } as const;
const off = { fallback: false } as const;
const port = (what: string) => integer(what, { min: 1, max: 65_535 });

function familyIn(entry: string): Family | undefined {
  const family = entry.toLowerCase();
  return family === "ipv4" || family === "ipv6" ? family : undefined;
}
const families = (what: string) => entries(what, "a comma-separated list of ipv4 and ipv6", familyIn);

/** The digits of a fingerprint. Accepts the whole line that `openssl x509 -fingerprint` prints. */
function fingerprintIn(raw: string): ParsedField<string> {
  const value = raw.replace(/^.*=/, "").trim();
  const digits = value.replaceAll(":", "");
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(digits) ? { value } : { wrong: raw };
}

/** Keys of [Global] and of a vCenter. A vCenter without a value uses the value of [Global]. */
const connection = {
  user: text("User name, such as fairlead@vsphere.local.", live),
  password: secret("The user's password."),
  port: port("Port of vCenter. Default: 443."),
  "insecure-flag": flag("Do not verify vCenter's certificate.", off),
  "ca-file": text("A file with vCenter's CA certificates."),
  thumbprint: {
    ...text("SHA-1 or SHA-256 fingerprint of vCenter's certificate, which then needs no CA."),
    expects: "a SHA-1 or SHA-256 fingerprint of 20 or 32 bytes, such as 8D:5F:…",
    parse: fingerprintIn,
  },
  datacenters: list("Datacenters of the machines: names, paths, or Datacenter:datacenter-3. Default: all."),
  "secret-name": text(
    "A Secret of the cluster with user names and passwords, under keys that begin with the server.",
    live,
  ),
  "secret-namespace": text("The namespace of that Secret.", live),
  "ip-family": families("Families of addresses, in their order. Default: ipv4."),
};

const global = {
  ...withVariables("VSPHERE_", connection),
  server: text("Host name or address of vCenter.", { env: "VSPHERE_VCENTER" }),
  port: { ...connection.port, env: "VSPHERE_VCENTER_PORT" },
  datacenters: { ...connection.datacenters, env: "VSPHERE_DATACENTER" },
  "insecure-flag": { ...connection["insecure-flag"], env: "VSPHERE_INSECURE" },
  "ca-file": { ...connection["ca-file"], env: "VSPHERE_CAFILE" },
  "secrets-directory": text("A folder with files named like the keys of the Secret.", {
    fallback: "/etc/cloud/secrets",
    env: "VSPHERE_SECRETS_DIRECTORY",
  }),
};

export const vcenter = {
  name: text("Name of the vCenter, in messages and metrics.", { required: true }),
  server: text("Its host name or address. Default in the INI format: the name."),
  ...connection,
};

const labels = {
  "label-zone": text("Category of the tags with zones: zone in [Labels].", { env: "VSPHERE_LABEL_ZONE" }),
  "label-region": text("Category of the tags with regions: region in [Labels].", {
    env: "VSPHERE_LABEL_REGION",
  }),
};

const nodes = {
  ...withVariables("VSPHERE_NODES_", {
    "internal-network-subnet-cidr": cidrList("Ranges of the InternalIP."),
    "external-network-subnet-cidr": cidrList("Ranges of the ExternalIP."),
    "internal-vm-network-name": text("Network of the InternalIP, if no range has it."),
    "external-vm-network-name": text("Network of the ExternalIP, if no range has it."),
  }),
  "exclude-internal-network-subnet-cidr": cidrList("Ranges that are never an InternalIP."),
  "exclude-external-network-subnet-cidr": cidrList("Ranges that are never an ExternalIP."),
};

/** The sections of `vsphere.conf`. */
export const sections = { Global: global, Labels: labels, Nodes: nodes };

export const config = {
  ...global,
  ...labels,
  ...nodes,
  "virtual-centers": records('The vCenters: [VirtualCenter "name"], or vcenter in YAML.', vcenter, {
    unique: "name",
    fallback: [],
    variables: {
      name: "VSPHERE_VCENTER_{id}",
      user: "VCENTER_{id}_USERNAME",
      password: "VCENTER_{id}_PASSWORD",
      server: "VCENTER_{id}_SERVER",
      port: "VCENTER_{id}_PORT",
      "insecure-flag": "VCENTER_{id}_INSECURE",
      datacenters: "VCENTER_{id}_DATACENTERS",
      "ca-file": "VCENTER_{id}_CAFILE",
      thumbprint: "VCENTER_{id}_THUMBPRINT",
      "secret-name": "VCENTER_{id}_SECRET_NAME",
      "secret-namespace": "VCENTER_{id}_SECRET_NAMESPACE",
      "ip-family": "VCENTER_{id}_IP_FAMILY",
    },
  }),
  "node-labels": pairs("Labels that each Node gets when it joins, such as team=web.", {
    flag: "node-labels",
  }),
  "skip-node-deletion": text("Any value: delete no Node. --node-deletion=off does the same.", {
    env: "SKIP_NODE_DELETION",
  }),
};
export type Settings = Values<typeof config>;
export type VCenterSettings = Values<typeof vcenter>;

/** Both categories, or none: like the Go manager, Fairlead writes no zone without a region. */
export function categoriesOf({
  "label-zone": zone,
  "label-region": region,
}: Settings): Categories | undefined {
  return zone === undefined || region === undefined ? undefined : { zone, region };
}

export function rulesOf(settings: Settings, families: AddressRules["families"]): AddressRules {
  const rule = (kind: "internal" | "external") => ({
    ranges: settings[`${kind}-network-subnet-cidr`] ?? [],
    excluded: settings[`exclude-${kind}-network-subnet-cidr`] ?? [],
    network: settings[`${kind}-vm-network-name`],
  });
  return { internal: rule("internal"), external: rule("external"), families };
}

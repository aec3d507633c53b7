// vSphere settings: `vsphere.conf` in both formats, the Go manager's environment variables, and the settings of each vCenter.

import { describe, expect, test } from "bun:test";
import { vsphere } from "../../../providers/vsphere/index.ts";
import { type VCenter, vcentersOf } from "../../../providers/vsphere/vcenters.ts";
import { readConfig } from "../../../src/app/configuration/cloud-settings.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import type { Secret } from "../../../src/core/secret.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";

const provider = vsphere as unknown as AnyProvider;
const path = "/etc/vsphere.conf";

async function read(
  content: string,
  environment: Readonly<Record<string, string>> = {},
  others: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
) {
  const memory = new MemoryFiles();
  for (const [name, text] of Object.entries({ [path]: content, ...others })) memory.put(name, text);
  const { files } = memory;
  const args = ["--cloud-provider=vsphere", `--cloud-config=${path}`, ...flags];
  const { settings, problems } = await readConfiguration({ provider, args, environment, files });
  const { values } = readConfig(provider, { environment, ...settings.cloud });
  return { values: values as never as Parameters<typeof vcentersOf>[0], problems };
}

const thumbprint = `${"AA:".repeat(19)}BB`;
const ca = "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----\n";

const plain = (vcenters: readonly VCenter[]) =>
  vcenters.map(({ password, ...one }) => ({ ...one, password: (password as Secret | undefined)?.reveal() }));

const ini = `[Global]
user = "admin"
password = "p;w"
port = 8443
insecure-flag = true
ca-file = /ca.pem
thumbprint = SHA1 Fingerprint=${thumbprint}
datacenters = DC1, DC2
soap-roundtrip-count = 3
ip-family = ipv6,ipv4

[VirtualCenter "10.0.0.1"]
[VirtualCenter "tenant"]
server = vc.example
user = other
password = secret
port = 444
datacenters = Datacenter:datacenter-3
secret-name = s
secret-namespace = n
ip-family = ipv4

[Labels]
zone = k8s-zone
region = k8s-region

[Nodes]
internal-network-subnet-cidr = 10.0.0.0/8,fd00::/8
external-network-subnet-cidr = 192.0.2.0/24
internal-vm-network-name = "Internal K8s"
external-vm-network-name = Public
exclude-internal-network-subnet-cidr = 10.9.0.0/16
exclude-external-network-subnet-cidr = 192.0.2.128/25
`;

const yaml = `# Defaults of all vCenters
global:
  user: admin
  password: p;w
  port: 8443
  insecureFlag: true
  caFile: /ca.pem
  thumbprint: "${thumbprint}"
  datacenters:
    - DC1
    - DC2
  soapRoundtripCount: 3
  ipFamily: [ipv6, ipv4]
vcenter:
  "10.0.0.1":
    server: 10.0.0.1
  tenant:
    server: vc.example
    user: other
    password: secret
    port: 444
    datacenters: ["Datacenter:datacenter-3"]
    secretName: s
    secretNamespace: n
    ipFamily:
      - ipv4
labels:
  zone: k8s-zone
  region: k8s-region
nodes:
  internalNetworkSubnetCidr: 10.0.0.0/8,fd00::/8
  externalNetworkSubnetCidr: 192.0.2.0/24
  internalVmNetworkName: Internal K8s
  externalVmNetworkName: Public
  excludeInternalNetworkSubnetCidr: 10.9.0.0/16
  excludeExternalNetworkSubnetCidr: 192.0.2.128/25
`;

const expected = [
  {
    name: "10.0.0.1",
    server: "10.0.0.1",
    base: "https://10.0.0.1:8443",
    skipsVerification: true,
    caFile: "/ca.pem",
    thumbprint,
    datacenters: ["DC1", "DC2"],
    families: ["ipv6", "ipv4"],
    user: "admin",
    password: "p;w",
    secret: undefined,
  },
  {
    name: "tenant",
    server: "vc.example",
    base: "https://vc.example:444",
    skipsVerification: true,
    caFile: "/ca.pem",
    thumbprint,
    datacenters: ["Datacenter:datacenter-3"],
    families: ["ipv4"],
    user: "other",
    password: "secret",
    secret: { namespace: "n", name: "s" },
  },
];

describe("vsphere.conf", () => {
  test.each([
    ["INI", ini],
    ["YAML", yaml],
  ])(
    "vsphere.conf in the %s format sets every key, and sections are completed from the global values [F78]",
    async (_, content) => {
      const { values, problems } = await read(content, {}, { "/ca.pem": ca });
      expect(plain(vcentersOf(values))).toEqual(expected as never);
      expect(values).toMatchObject({
        "label-zone": "k8s-zone",
        "label-region": "k8s-region",
        "internal-network-subnet-cidr": ["10.0.0.0/8", "fd00::/8"],
        "external-network-subnet-cidr": ["192.0.2.0/24"],
        "internal-vm-network-name": "Internal K8s",
        "external-vm-network-name": "Public",
        "exclude-internal-network-subnet-cidr": ["10.9.0.0/16"],
        "exclude-external-network-subnet-cidr": ["192.0.2.128/25"],
      });
      expect(problems.map(({ severity }) => severity)).toEqual(["warning", "warning"]);
    },
  );

  test("vsphere.conf without a section makes the global server the vCenter, and a section with its name replaces it", async () => {
    const { values } = await read("global:\n  server: vc.example\n  user: a\n  password: b\n");
    expect(vcentersOf(values).map(({ name, base }) => [name, base])).toEqual([
      ["vc.example", "https://vc.example:443"],
    ]);
    const both = await read(
      '[Global]\nserver = vc.example\nuser = a\npassword = b\n[VirtualCenter "vc.example"]\nport = 8443\n',
    );
    expect(vcentersOf(both.values).map(({ name, base }) => [name, base])).toEqual([
      ["vc.example", "https://vc.example:8443"],
    ]);
  });

  test("puts an IPv6 server in brackets", async () => {
    const { values } = await read("global:\n  server: fd01::1\n  user: a\n  password: b\n");
    expect(vcentersOf(values)[0]?.base).toBe("https://[fd01::1]:443");
  });

  test.each([
    [
      "a typo in YAML",
      "global:\n  server: a\n  insecureFlg: true\n",
      3,
      "error",
      'did you mean "insecureFlag"',
    ],
    [
      "a dashed key in YAML",
      "nodes:\n  internal-vm-network-name: x\nglobal: {}\n",
      2,
      "error",
      '"internalVmNetworkName"',
    ],
    [
      "an unknown key in YAML",
      "global:\n  server: a\n  colour: red\n",
      3,
      "warning",
      "colour in global is not a known",
    ],
    ["an unknown section in YAML", "other:\n  a: b\n", 1, "warning", "other is not a known setting"],
    [
      "a duplicate key in YAML",
      "global:\n  server: a\n  server: b\n",
      3,
      "error",
      "server is set more than once",
    ],
    [
      "a mapping as a value in YAML",
      "global:\n  server:\n    a: b\n",
      3,
      "error",
      "global.server must be a value",
    ],
    [
      "a typo in INI",
      "[Global]\nserver = a\ninsecure-flg = true\n",
      3,
      "error",
      'did you mean "insecure-flag"',
    ],
    [
      "a key of [Labels] with a typo in INI",
      "[Labels]\nzones = a\n",
      2,
      "error",
      'zones in [Labels] is not a known setting, so it has no effect; did you mean "zone"?',
    ],
    ["a key of labels with a typo in YAML", "labels:\n  zones: a\n", 2, "error", 'did you mean "zone"?'],
    [
      "a vCenter without a server in YAML",
      "vcenter:\n  main:\n    user: a\n",
      2,
      "error",
      "server in vcenter.main is missing",
    ],
    [
      "a server that is another URL",
      "global:\n  server: ftp://a\n",
      2,
      "error",
      'global.server must be a host name, an address, or an http or https URL, got "ftp://a"',
    ],
    [
      "a server that is no URL in INI",
      '[VirtualCenter "x"]\nserver = https://\n',
      2,
      "error",
      "must be a host name",
    ],
    [
      "a thumbprint of another length",
      "global:\n  server: a\n  thumbprint: AA:BB\n",
      3,
      "error",
      "global.thumbprint must be a SHA-1 or SHA-256 fingerprint",
    ],
    [
      "a CA file that is not PEM",
      "global:\n  server: a\n  caFile: /der.crt\n",
      3,
      "error",
      "/der.crt: this file has no certificate in the PEM format (-----BEGIN CERTIFICATE-----). Correct global.caFile",
    ],
    [
      "load balancers of NSX-T in INI",
      "[LoadBalancer]\nsize = SMALL\n",
      1,
      "error",
      "load balancers would no longer be managed",
    ],
    ["a class in INI", '[LoadBalancerClass "x"]\nipPoolName = y\n', 1, "error", "load balancers"],
    [
      "routes of NSX-T in YAML",
      "route:\n  routerPath: /infra\n",
      1,
      "error",
      "routes would no longer be managed",
    ],
    [
      "credentials of NSX-T in YAML",
      "nsxt:\n  host: a\n  user: b\n",
      1,
      "warning",
      "nsxt is not a known setting",
    ],
    [
      "a section of the in-tree provider",
      "[Disk]\nscsicontrollertype = pvscsi\n",
      1,
      "warning",
      "[Disk] is unknown",
    ],
    [
      "a setting without effect",
      "[Global]\nserver = a\nsoap-roundtrip-count = 3\n",
      3,
      "warning",
      "has no effect",
    ],
  ])("reports %s in vsphere.conf with its line", async (_, content, line, severity, text) => {
    const { problems } = await read(content, {}, { "/der.crt": "0" });
    const found = problems.find(({ place }) => place?.line === line);
    expect(found).toMatchObject({ severity, place: { file: path, line } });
    expect(found?.text).toContain(text);
  });

  test("shows no secret in a message about a line that is not YAML", async () => {
    const { problems } = await read("global:\n  password: a: hunter2\n");
    expect(problems.some(({ severity }) => severity === "error")).toBe(true);
    expect(JSON.stringify(problems)).not.toContain("hunter2");
  });
});

describe("the Go manager's environment variables", () => {
  test("the Go manager's environment variables override values in the file, and apply to the vCenters in the file", async () => {
    const { values } = await read(ini, {
      VSPHERE_USER: "env",
      VSPHERE_DATACENTER: "DC9",
      VSPHERE_LABEL_ZONE: "z",
      VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: "172.16.0.0/12",
    });
    expect(vcentersOf(values).map(({ user, datacenters }) => [user, datacenters])).toEqual([
      ["env", ["DC9"]],
      ["other", ["Datacenter:datacenter-3"]],
    ]);
    expect(values).toMatchObject({ "label-zone": "z", "internal-network-subnet-cidr": ["172.16.0.0/12"] });
  });

  test("the variables of one vCenter add the vCenter, or replace the vCenter with its name in the file", async () => {
    const { values, problems } = await read(ini, {
      VSPHERE_VCENTER_PORT: "8443",
      VSPHERE_VCENTER_A: "10.0.0.1",
      VCENTER_A_USERNAME: "of-a",
      VCENTER_A_PASSWORD: "a=b=c",
      VSPHERE_VCENTER_B: "new",
      VCENTER_B_SERVER: "b.example",
      VCENTER_B_INSECURE: "true",
      VCENTER_B_IP_FAMILY: "ipv6",
    });
    expect(
      plain(vcentersOf(values)).map(({ name, base, user, password, families }) => [
        name,
        base,
        user,
        password,
        families,
      ]),
    ).toEqual([
      ["10.0.0.1", "https://10.0.0.1:8443", "of-a", "a=b=c", ["ipv6", "ipv4"]],
      ["tenant", "https://vc.example:444", "other", "secret", ["ipv4"]],
      ["new", "https://b.example:8443", "admin", "p;w", ["ipv6"]],
    ]);
    expect(problems.filter(({ reason }) => reason === "UnknownVariable")).toEqual([]);
  });
});

test.each([
  ["no vCenter", "labels:\n  zone: a\n  region: b\n", "no vCenter is set"],
  ["a Secret without its namespace", "global:\n  server: a\n  secretName: s\n", "secret-namespace is not"],
  [
    "a Secret and a folder",
    "global:\n  server: a\n  secretName: s\n  secretNamespace: n\n  secretsDirectory: /x\n",
    "only one of them",
  ],
  [
    "two vCenters with the same server",
    "vcenter:\n  a:\n    server: vc\n  b:\n    server: vc\n",
    "each machine is found twice",
  ],
  ["a family that does not exist", "global:\n  server: a\n  ipFamily: [ipv5]\n", "ipv4 and ipv6"],
])("rejects %s in vsphere.conf", async (_, content, text) => {
  const { problems } = await read(content);
  const errors = problems.filter(({ severity }) => severity === "error");
  expect(errors.map((problem) => problem.text).join("\n")).toContain(text);
});

test("rejects a label that Kubernetes would reject", async () => {
  const { problems } = await read("global:\n  server: a\n", {}, {}, ["--node-labels=team=web,a b=c"]);
  expect(problems.map(({ severity, text }) => [severity, text])).toEqual([
    ["error", "node-labels has a b=c, which is no valid label of Kubernetes. Correct it, or remove it"],
  ]);
});

test("reads a file that begins with 60,000 empty lines, in both formats", async () => {
  for (const content of ["global:\n  server: a\n", "# a\n[Global]\nserver = a\n"]) {
    const { values, problems } = await read("\r\n".repeat(60_000) + content);
    expect([vcentersOf(values).map(({ server }) => server), problems]).toEqual([["a"], []]);
  }
});

test("warns about a section that is named like an inherited object property", async () => {
  const { problems } = await read("global:\n  server: a\nconstructor:\n  user: b\n");
  expect(problems.map(({ text }) => text)).toEqual([
    "constructor is not a known setting, so it has no effect",
  ]);
});

test.each([
  [
    "a zone without a region",
    "global:\n  server: a\nlabels:\n  zone: z\n",
    {},
    "Nodes get neither zone nor region",
  ],
  ["SKIP_NODE_DELETION=false", "global:\n  server: a\n", { SKIP_NODE_DELETION: "false" }, "never deleted"],
  [
    "a vCenter that is not verified",
    "vcenter:\n  a:\n    server: a\n    insecureFlag: true\n",
    {},
    "not verified",
  ],
])("warns about %s", async (_, content, environment, text) => {
  const { problems } = await read(content, environment);
  expect(problems.map(({ severity }) => severity)).toEqual(["warning"]);
  expect(problems[0]?.text).toContain(text);
});

test("accepts the same server with other datacenters without reporting a duplicate", async () => {
  const { problems } = await read(
    "vcenter:\n  a:\n    server: vc\n    datacenters: [DC1]\n  b:\n    server: vc\n    datacenters: [DC2]\n",
  );
  expect(problems).toEqual([]);
});

// Files that operators write: kubeconfigs, the --config file, and the --cloud-config file of each
// cloud, each through the reader of the whole configuration.

import { readProfiles } from "../../../providers/aws/credentials/shared-files.ts";
import { aws } from "../../../providers/aws/index.ts";
import { fake } from "../../../providers/fake/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { readClouds } from "../../../providers/openstack/config-file.ts";
import { openstack } from "../../../providers/openstack/index.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { vsphere } from "../../../providers/vsphere/index.ts";
import { readConfig } from "../../../src/app/configuration/cloud-settings.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { parseManifests } from "../../../src/config-file/parse-manifests.ts";
import { chooseContext } from "../../../src/kube/connection/choose-context.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import type { FuzzTarget } from "../target.ts";
import { lines } from "../tree.ts";

const kubeconfig = `apiVersion: v1
kind: Config
current-context: home
clusters:
  - name: home
    cluster:
      server: https://10.0.0.1:6443
      certificate-authority-data: Zm9v
      tls-server-name: kubernetes
contexts:
  - name: home
    context: { cluster: home, user: manager, namespace: kube-system }
users:
  - name: manager
    user:
      token: secret
      as: operator
      as-groups: [a, b]
      as-user-extra: { reason: [x] }
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: ./plugin
        args: [token, "--x"]
        env:
          - name: A
            value: b
        interactiveMode: Never
  - name: other
    user:
      client-certificate-data: Zm9v
      client-key: key.pem
      auth-provider:
        name: oidc
`;

const pluginUsers = [
  "exec:\n        args:\n          - a\n        command: x",
  "as-user-extra:\n        reason:\n          - a",
].map(
  (user) =>
    `current-context: a\nclusters:\n  - name: a\n    cluster:\n      server: http://a\ncontexts:\n  - name: a\n    context:\n      cluster: a\n      user: a\nusers:\n  - name: a\n    user:\n      auth-provider:\n        name: gcp\n      ${user}\n`,
);

const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n";
const configs = [
  `${head}flags:
  cluster-name: prod
  cluster-cidr: [10.244.0.0/16, "fd00::/48"]
  node-status-update-frequency: 5m
  kube-api-qps: 5
  controllers: ["*", volume]
  node-labels-from: { "example.com/": label }
cloud:
  endpoint: http://127.0.0.1
  page-size: 2
`,
  `${head}cloud:\n  scopes:\n    - name: two\n      region: "R"\n    - name: three\n      cloud: c\n`,
  `{"apiVersion": "fairlead.dev/v1alpha1", "kind": "FairleadConfiguration", "flags": {"v": 4}, "cloud": {}}`,
];

const read = async (provider: unknown, contents: Readonly<Record<string, string>>): Promise<unknown> => {
  const { files } = new MemoryFiles(contents);
  const args = Object.keys(contents).map((path) => `--${path}=${path}`);
  const cloud = provider as AnyProvider;
  const { settings, problems } = await readConfiguration({ provider: cloud, args, environment: {}, files });
  readConfig(cloud, { environment: {}, ...settings.cloud });
  return problems;
};

const cloudFile = (
  provider: { readonly name: string },
  corpus: readonly string[],
  format = "",
): FuzzTarget => ({
  name: `cloud-config-${provider.name}${format}`,
  form: lines,
  corpus,
  run: (input) => read(provider, { "cloud-config": input }),
  // Each unknown key has its own message.
  growth: 150,
});

const yamlOfVsphere = `# Defaults of all vCenters

global:
  user: admin
  password: p;w
  port: 8443
  datacenters:
    - DC1
    - DC2
  ipFamily: [ipv6, ipv4]
vcenter:
  tenant:
    server: vc.example
    secretName: s
    secretNamespace: n
labels:
  zone: k8s-zone
nodes:
  internalNetworkSubnetCidr: 10.0.0.0/8,fd00::/8
`;

export const fileTargets: readonly FuzzTarget[] = [
  {
    name: "kubeconfig",
    form: lines,
    corpus: [kubeconfig, ...pluginUsers],
    run: (input) => chooseContext([{ path: "/etc/kubeconfig", text: input }]),
    growth: 60,
  },
  ...[fake, openstack].map(
    (provider): FuzzTarget => ({
      name: `config-${provider.name}`,
      form: lines,
      corpus: configs,
      run: (input) => read(provider, { config: input }),
      growth: 150,
    }),
  ),
  cloudFile(fake, ["# comment\nendpoint = http://own\ntoken = own\npage-size = 1\n"]),
  cloudFile(hetzner, ["any = file\n"]),
  cloudFile(rancher, [
    "[Global]\ncattle-url = http://r:8080/v1\ncattle-access-key = a\ncattle-secret-key=b ; x\n",
  ]),
  cloudFile(aws, [
    `[Global]
Region = us-west-2
VPC = vpc-0123456789abcdef0
KubernetesClusterID = prod
NodeIPFamilies = ipv4
NodeIPFamilies = ipv6
SupportedTopologyInstanceTypePattern = "^m[0-9]"

[ServiceOverride "1"]
Service = EC2
Region = us-west-2
URL = https://ec2.foo.bar
SigningRegion = signing
`,
  ]),
  cloudFile(openstack, [
    `[Global]
auth-url = https://keystone.example:5000/v3
region = RegionOne
username = "a \\"b\\" c"
password = "p;w" # comment
tenant-id = 1a8 \\
  continued
tls-insecure

[LoadBalancer]
floating-network-id = 0a1b
create-monitor = yes
monitor-delay = 5s

[LoadBalancerClass "internet"]
floating-network-id = 9

[Scope "two"]
region = RegionTwo
`,
  ]),
  cloudFile(vsphere, [yamlOfVsphere], "-yaml"),
  cloudFile(
    vsphere,
    [
      `[Global]
user = "admin"
password = "p;w"
insecure-flag = true
datacenters = DC1, DC2

[VirtualCenter "10.0.0.1"]
port = 444

[Labels]
zone = k8s-zone

[Workspace]
server = x
`,
    ],
    "-ini",
  ),
  {
    name: "clouds-yaml",
    form: lines,
    corpus: [
      `clouds:
  prod:
    auth: { auth_url: "https://keystone", username: u, password: p, project_id: 7 }
    region_name: RegionOne
    verify: false
`,
    ],
    run: (input) => [readClouds(input, undefined), readClouds(input, "prod")],
  },
  {
    name: "aws-shared-files",
    form: lines,
    corpus: [
      "[default]\naws_access_key_id = AKIA\naws_secret_access_key=x # y\n[profile dev]\nregion = eu-1\ns3 =\n  a = b\n",
    ],
    run: (input) => [...readProfiles(input, input)],
  },
  {
    name: "manifests",
    form: lines,
    corpus: [
      `apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations: {a: b}\n---\napiVersion: v1\nkind: List\nitems:\n  - kind: Service\n`,
    ],
    run: (input) => parseManifests(input),
    // A short item has several problems, each with a long text.
    growth: 300,
  },
];

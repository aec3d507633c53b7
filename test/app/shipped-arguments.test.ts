import { expect, test } from "bun:test";
import { asTransport as cloudTransport } from "#ccm/testing";
import { aws as realAws } from "../../providers/aws/index.ts";
import { digitalocean as realDigitalocean } from "../../providers/digitalocean/index.ts";
import { fake } from "../../providers/fake/index.ts";
import { hetzner } from "../../providers/hetzner/index.ts";
import { openstack as realOpenstack } from "../../providers/openstack/index.ts";
import { type Configuration, readConfiguration } from "../../src/app/configuration/configuration.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
// Imported here, because the import takes time that is not virtual.
import "../../src/app/process-life.ts";
import { runProgram } from "../../src/app/run.ts";
import { integer } from "../../src/core/fields.ts";
import { pairs, repeated } from "../../src/core/list-fields.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import type { Environment } from "../../src/platform/environment.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Transport } from "../../src/platform/transport.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { ServiceWorld } from "../support/service-world.ts";

// The exact arguments of the manifests that the Go managers of Kubernetes 1.35 to 1.37 ship. The cloud's provider accepts them
// and reports arguments without effect. A manager runs with them on the fake cloud, with the flags and presets of that provider.

const cloud = (parts: Partial<AnyProvider>): AnyProvider =>
  ({ ...fake, ...parts, config: { ...fake.config, ...parts.config } }) as AnyProvider;

const hcloud = cloud({ name: "hcloud", readConfigFile: undefined as never });
const digitalocean = cloud({
  name: "digitalocean",
  presets: { "cloud-provider": "digitalocean", "authentication-skip-lookup": "true" },
});
const aws = cloud({
  name: "aws",
  config: {
    tags: pairs("Tags on machines.", { flag: "tags" }),
    resources: repeated("What is tagged.", "a kind of resource", { flag: "resources" }),
    "tagging-workers": integer("Workers.", {}, { flag: "tagging-controller-concurrent-node-syncs" }),
  },
});
const openstack = cloud({
  name: "openstack",
  config: { "user-agent": repeated("Words of the user agent.", "a word", { flag: "user-agent" }) },
});
const vsphere = cloud({
  name: "vsphere",
  config: { labels: pairs("Labels for Nodes.", { flag: "node-labels" }) },
  ignoredFlags: { logtostderr: "all lines go to stderr" },
});

/** The content of the file that OpenStack's manager ships. */
const cloudConf = `[Global]
auth-url=http://192.0.2.15:5000/v3
username=admin
password=secret
region=RegionOne
tenant-id=
domain-id=

[LoadBalancer]
subnet-id=9c018814-f2a8-45dd-9679-5400d49b333a
floating-network-id=80c9fc78-a2be-45d5-a85b-f17a6c98df92
`;
const files = new MemoryFiles({ "/etc/cloud/vsphere.conf": "", "/etc/config/cloud.conf": cloudConf });
const read = (
  provider: AnyProvider,
  args: readonly string[],
  environment: Environment = {},
): Promise<Configuration> => readConfiguration({ provider, args, files: files.files, environment });

/** Uses the environment of the manifests. vSphere has no provider, so the fake cloud replaces it. */
const published = new Map<AnyProvider, readonly [provider: AnyProvider, environment: Environment]>([
  [
    hcloud,
    [
      hetzner as AnyProvider,
      { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_NETWORK: "net", ROBOT_USER: "", ROBOT_PASSWORD: "" },
    ],
  ],
  [digitalocean, [realDigitalocean as AnyProvider, { DO_ACCESS_TOKEN: "token" }]],
  [aws, [realAws as AnyProvider, {}]],
  [
    openstack,
    [
      realOpenstack as AnyProvider,
      { CLOUD_CONFIG: "/etc/kubernetes/cloud.conf", CLUSTER_NAME: "kubernetes" },
    ],
  ],
]);

const hcloudWith = (gate: boolean): readonly string[] => [
  "--allow-untagged-cloud",
  "--cloud-provider=hcloud",
  `--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=${gate}`,
  "--route-reconciliation-period=30s",
  "--webhook-secure-port=0",
];
const hcloudArguments = hcloudWith(true);
const awsArguments = ["--v=2", "--cloud-provider=aws"];
const openstackArguments = [
  "--v=1",
  "--cluster-name=kubernetes",
  "--cloud-config=/etc/config/cloud.conf",
  "--cloud-provider=openstack",
];
/** The gates that the Kubernetes 1.37 framework added, or that Fairlead did not know. */
const gatesOf137 = [
  ...["APIServerWebhookAuthenticationToken", "ComponentFlagz", "ComponentStatusz"],
  ...["ConsistentListFromCacheSkipTimeoutFallback", "DeclarativeValidationBeta", "EtcdRangeStream"],
  ...["ExcludeAdmissionWebhookVirtualResources", "ManifestBasedAdmissionControlConfig"],
  ...["ShardedListAndWatch", "WatchListCompression", "WebhookRoundTripLoadBalancing"],
];
const separateAccounts = "--use-service-account-credentials";

/** The manifest, its cloud, its arguments, and the arguments without effect in Fairlead. */
const shipped: readonly (readonly [string, AnyProvider, readonly string[], readonly string[]])[] = [
  [
    "hcloud deploy/ccm.yaml",
    hcloud,
    [...hcloudArguments, "--leader-elect=false"],
    ["--allow-untagged-cloud"],
  ],
  [
    "hcloud deploy/ccm-networks.yaml",
    hcloud,
    [
      ...hcloudArguments,
      "--allocate-node-cidrs=true",
      "--cluster-cidr=10.244.0.0/16",
      "--leader-elect=false",
    ],
    ["--allow-untagged-cloud", "--allocate-node-cidrs"],
  ],
  [
    "hcloud deploy/ccm-networks.yaml before v1.29",
    hcloud,
    [
      ...hcloudWith(false),
      "--allocate-node-cidrs=true",
      "--cluster-cidr=10.244.0.0/16",
      "--leader-elect=false",
    ],
    ["--allow-untagged-cloud", "--allocate-node-cidrs", "--feature-gates"],
  ],
  [
    "kubernetes.io examples/admin/cloud/ccm-example.yaml",
    hcloud,
    [
      ...["--cloud-provider=hcloud", "--leader-elect=true", separateAccounts],
      ...["--allocate-node-cidrs=true", "--configure-cloud-routes=true", "--cluster-cidr=172.17.0.0/16"],
    ],
    ["--allocate-node-cidrs"],
  ],
  ["hcloud chart, as a DaemonSet", hcloud, hcloudArguments, ["--allow-untagged-cloud"]],
  ["digitalocean releases/dev.yml", digitalocean, ["--leader-elect=false"], []],
  ["digitalocean docs/example-manifests", digitalocean, ["--leader-elect=true"], []],
  [
    "digitalocean releases/v0.1.14.yml",
    digitalocean,
    ["--cloud-provider=digitalocean", "--leader-elect=false", "--allow-untagged-cloud=true"],
    ["--allow-untagged-cloud"],
  ],
  ["aws chart", aws, awsArguments, []],
  [
    "aws examples/existing-cluster/base",
    aws,
    [...awsArguments, `${separateAccounts}=true`, "--configure-cloud-routes=false"],
    [],
  ],
  [
    "aws examples/existing-cluster/overlays/superset-role",
    aws,
    [...awsArguments, `${separateAccounts}=false`, "--configure-cloud-routes=false"],
    [],
  ],
  [
    "openstack manifests, DaemonSet",
    openstack,
    [...openstackArguments, `${separateAccounts}=false`, "--bind-address=127.0.0.1"],
    [],
  ],
  [
    "openstack manifests, Pod",
    openstack,
    [...openstackArguments, `${separateAccounts}=true`, "--bind-address=127.0.0.1"],
    [],
  ],
  [
    "openstack chart",
    openstack,
    [
      ...openstackArguments,
      `${separateAccounts}=false`,
      "--controllers=cloud-node,cloud-node-lifecycle,route,service",
      "--bind-address=0.0.0.0",
    ],
    [],
  ],
  [
    "hcloud deploy/ccm.yaml with the flag and the gates of Kubernetes 1.37",
    hcloud,
    [
      ...hcloudArguments.filter((flag) => !flag.startsWith("--feature-gates")),
      "--concurrent-node-lifecycle-syncs=5",
      `--feature-gates=${gatesOf137.map((gate) => `${gate}=true`).join(",")}`,
      "--leader-elect=false",
    ],
    [
      "--allow-untagged-cloud",
      "--concurrent-node-lifecycle-syncs",
      // Fairlead serves Flagz and Statusz.
      ...gatesOf137.flatMap((gate) => (/^Component(Flagz|Statusz)$/.test(gate) ? [] : "--feature-gates")),
    ],
  ],
  [
    "vsphere releases/v1.35 and manifests",
    vsphere,
    ["--cloud-provider=vsphere", "--v=2", "--cloud-config=/etc/cloud/vsphere.conf"],
    [],
  ],
];

test.each(shipped)(
  "the provider accepts the arguments of %s unchanged [S3]",
  async (_, cloudOfManifest, args, ignored) => {
    const [provider, environment] = published.get(cloudOfManifest) ?? [cloudOfManifest, {}];
    const { problems } = await read(provider, args, environment);
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(provider.name).toBe(cloudOfManifest.name);
    const reportedKeys = problems
      .filter(({ reason }) => reason === "FlagWithoutEffect")
      .map(({ key }) => key);
    expect(reportedKeys).toEqual([...ignored]);
    expect(problems).toHaveLength(ignored.length);
  },
);

test.each(shipped)(
  "a manager in a pod runs with the arguments of %s and provisions a Service [S1 S3]",
  async (_, provider, args) => {
    const world = new ServiceWorld({ latency: 0 });
    world.create("web");
    const account = "/var/run/secrets/kubernetes.io/serviceaccount";
    const disk = new MemoryFiles({
      [`${account}/token`]: "a-token",
      [`${account}/ca.crt`]: createAuthority("cluster", world.clock, seededRandom(4)).cert,
      "/etc/cloud/vsphere.conf": "",
      "/etc/config/cloud.conf": "token = abc",
    });
    const asAdministrator = asTransport(world.server);
    const platform = {
      clock: world.clock,
      random: seededRandom(3),
      files: disk.files,
      // The test API server issues no tokens, so every client is the administrator.
      transport: (async (request, signal) => {
        if (request.url.endsWith("/token")) return Response.json({ status: { token: "issued" } });
        const headers = Object.entries(request.headers ?? {}).filter(([name]) => name !== "authorization");
        return asAdministrator({ ...request, headers: Object.fromEntries(headers) }, signal);
      }) as Transport,
      cloudTransport: cloudTransport(world.cloud),
      environment: {
        KUBERNETES_SERVICE_HOST: "10.96.0.1",
        KUBERNETES_SERVICE_PORT: "443",
        FAKE_ENDPOINT: "http://cloud",
      },
    };
    const lines: string[] = [];
    const streams = {
      out: (text: string) => void lines.push(text),
      err: (text: string) => void lines.push(text),
    };
    const stop = new AbortController();
    const ended = runProgram(provider, args, streams, platform, stop.signal);
    const isServed = () => world.addressesOf("web").length > 0;
    await world.until(isServed, "the Service to have its address", 30);
    stop.abort(new Error("the test is over"));
    await world.pass(15);
    expect([await ended, lines.filter((line) => line.startsWith("E"))]).toEqual([0, []]);
  },
);

test("flags that a cloud's Go manager adds are settings of that cloud", async () => {
  const tagging = await read(aws, ["--tags=a=b", "--tags=c=d", "--resources=instance", "--resources=volume"]);
  expect(tagging.problems).toEqual([]);
  expect([...tagging.settings.cloud.given]).toEqual([
    ["tags", "a=b,c=d"],
    ["resources", "instance\nvolume"],
  ]);
  const { problems } = await read(aws, ["--tagging-controller-concurrent-node-syncs=x"]);
  expect(problems.map(({ text }) => text)).toEqual(['tagging-workers must be a whole number, got "x"']);
});

test("accepts flags of a cloud's Go manager that Fairlead does not need, and reports them once", async () => {
  const { problems } = await read(vsphere, ["--logtostderr", "--node-labels=a=b"]);
  expect(problems.map(({ text }) => text)).toEqual(["--logtostderr has no effect: all lines go to stderr"]);
});

test("explicit flags take precedence over a cloud's presets, without a warning", async () => {
  const preset = await read(digitalocean, []);
  expect(preset.settings.flags["authentication-skip-lookup"]).toBe(true);
  const given = await read(digitalocean, ["--authentication-skip-lookup=false"]);
  expect(given.settings.flags["authentication-skip-lookup"]).toBe(false);
});

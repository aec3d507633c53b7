// The tests of other projects that run against Fairlead and its simulators, with the versions that the repository pins.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = new URL("../..", import.meta.url).pathname;

/** The place where a version is pinned: a file, and the name in front of the version. */
type Pin = readonly [file: string, name: string];

export interface ForeignTest {
  /** `cloud/client` of `npm run test:clients`, or the comparison with upstream. */
  readonly id: string;
  readonly group: Group;
  readonly title: string;
  readonly pins: readonly Pin[];
}

/** The headings of the page, each with the contents of its table. */
export const groups = {
  "Upstream's controllers":
    "Fairlead and upstream's own controllers run in the same scenarios. Each scenario is two tests: with Fairlead's defaults, and with `--compatibility=upstream`; take-over has its own tests. The command is `npm run test:differential`.",
  "csi-sanity":
    "Kubernetes' test of CSI drivers, against the CSI services of each cloud with volumes. The numbers are its cases; `test/clients/csi/sanity.client.ts` explains why some are skipped. The command is `npm run test:clients -- NAME`, as for the tables below.",
  "Clients of the vendors":
    "Fairlead's tests rely on simulated clouds. The vendors' clients check that the simulators behave like the clouds. The numbers are the steps of each client; for OpenStack, all steps are one test.",
  "Go managers and sidecars":
    "These programs work on the same clouds as Fairlead: before it, after it, or beside it. The numbers are tests.",
  "Clouds made by others":
    "Fairlead runs on cloud simulators that are not part of this project, or is compared with a vendor's API description. The numbers are tests. The tests with the real services of OpenStack are in [clouds/openstack.md](clouds/openstack.md#tests).",
} as const;
export type Group = keyof typeof groups;

const sanityPin: Pin = ["test/clients/csi/prepare.ts", "csi-test/v5"];
const sanity = (cloud: string, title: string): ForeignTest => ({
  id: cloud,
  group: "csi-sanity",
  title,
  pins: [sanityPin],
});

const vendor = (id: string, title: string, file: string, ...names: readonly string[]): ForeignTest => ({
  id,
  group: "Clients of the vendors",
  title,
  pins: names.map((name) => [`test/providers/${file}`, name]),
});

const awsManager: Pin = ["test/providers/aws/clients/peer/go.mod", "k8s.io/cloud-provider-aws"];
const moto: Pin = ["test/providers/aws/clients/moto/requirements.txt", "moto[server]"];
const vcsim: Pin = ["test/providers/vsphere/clients/vcsim/go.mod", "github.com/vmware/govmomi"];
const hetznerPeer = "test/providers/hetzner/clients/rehearsal/peer/go.mod";
const sidecars = "test/clients/csi/prepare.ts";

export const comparison: ForeignTest = {
  id: "comparison",
  group: "Upstream's controllers",
  title: "all scenarios",
  pins: [["test/differential/upstream/go.mod", "k8s.io/cloud-provider"]],
};

export const foreignTests: readonly ForeignTest[] = [
  comparison,
  sanity("aws/csi", "AWS, simulator"),
  sanity("aws/csi-on-moto", "AWS, moto"),
  sanity("digitalocean/csi", "DigitalOcean, simulator"),
  sanity("hetzner/csi", "Hetzner, simulator"),
  sanity("openstack/csi", "OpenStack, simulator"),
  sanity("fake/csi", "fake cloud"),
  vendor("aws/python", "AWS SDK for Python", "aws/clients/python/requirements.txt", "boto3"),
  vendor(
    "digitalocean/go",
    "DigitalOcean's client for Go",
    "digitalocean/clients/go/go.mod",
    "github.com/digitalocean/godo",
  ),
  vendor(
    "digitalocean/python",
    "DigitalOcean's client for Python",
    "digitalocean/clients/python/requirements.txt",
    "pydo",
  ),
  vendor(
    "hetzner/go",
    "Hetzner Cloud's client for Go",
    "hetzner/clients/go/go.mod",
    "github.com/hetznercloud/hcloud-go/v2",
  ),
  vendor(
    "hetzner/python",
    "Hetzner Cloud's client for Python",
    "hetzner/clients/python/requirements.txt",
    "hcloud",
  ),
  vendor(
    "openstack/python",
    "OpenStack's SDK and command",
    "openstack/clients/python/requirements.txt",
    "openstacksdk",
    "python-openstackclient",
  ),
  vendor(
    "rancher/go",
    "Rancher's client for Go",
    "rancher/clients/go/go.mod",
    "github.com/rancher/go-rancher",
  ),
  vendor(
    "rancher/python",
    "Rancher's client for Python",
    "rancher/clients/python/requirements.txt",
    "cattle",
  ),
  vendor(
    "vsphere/python",
    "VMware's client for Python",
    "vsphere/clients/python/requirements.txt",
    "pyvmomi",
  ),
  {
    id: "aws/upstream",
    group: "Go managers and sidecars",
    title: "AWS: the Go manager, then Fairlead, then the Go manager, on the simulator",
    pins: [awsManager],
  },
  {
    id: "aws/moto-go",
    group: "Go managers and sidecars",
    title: "AWS: the Go manager and Fairlead, each on moto: states, changes and requests",
    pins: [awsManager, moto],
  },
  {
    id: "vsphere/peer",
    group: "Go managers and sidecars",
    title:
      "vSphere: the Go manager and Fairlead on vcsim and a real control plane: Nodes, take-over and calls",
    pins: [["test/providers/vsphere/clients/rig/suite.ts", "k8s.io/cloud-provider-vsphere"], vcsim],
  },
  {
    id: "openstack/upstream",
    group: "Go managers and sidecars",
    title: "OpenStack: the Go manager, then Fairlead, then the Go manager, on the simulator",
    pins: [["test/providers/openstack/clients/rehearsal/peer/go.mod", "k8s.io/cloud-provider-openstack"]],
  },
  {
    id: "hetzner/rehearsal",
    group: "Go managers and sidecars",
    title:
      "Hetzner: a small manager on upstream's framework, then Fairlead, then that manager, on the simulator",
    pins: [
      [hetznerPeer, "k8s.io/cloud-provider"],
      [hetznerPeer, "github.com/hetznercloud/hcloud-go/v2"],
    ],
  },
  {
    id: "fake/sidecars",
    group: "Go managers and sidecars",
    title: "CSI: upstream's sidecars, and the volume controller beside them, on real control planes",
    pins: [
      [sidecars, "external-provisioner/v6"],
      [sidecars, "external-attacher/v4"],
      [sidecars, "external-resizer/v2"],
      ["test/clients/csi/snapshotter/go.mod", "external-snapshotter/v8"],
    ],
  },
  {
    id: "aws/moto",
    group: "Clouds made by others",
    title: "AWS: moto",
    pins: [moto],
  },
  {
    id: "vsphere/vcsim",
    group: "Clouds made by others",
    title: "vSphere: vcsim, the simulator of vCenter in govmomi",
    pins: [vcsim],
  },
  {
    id: "hetzner/types",
    group: "Clouds made by others",
    title: "Hetzner: the types of the provider and Hetzner's OpenAPI document of February 2026",
    pins: [],
  },
];

/** The text after the name of a module or package in a file of this kind. */
function separator(file: string): string {
  if (file.endsWith("go.mod")) return " v";
  return file.endsWith(".txt") ? "==" : "";
}

function versionAt([file, name]: Pin): string {
  const text = readFileSync(join(root, file), "utf8");
  const [, after = ""] = text.split(`${name}${separator(file)}`, 2);
  const version = /\d+\.\d+[\w.+-]*/.exec(after.slice(0, 120))?.[0];
  if (version === undefined) throw new Error(`${file} has no version of ${name}.`);
  return version;
}

/** The versions that the repository pins for a test, for example `csi-test/v5 5.6.0`. */
export const pinned = ({ pins }: ForeignTest): readonly string[] =>
  pins.map((pin) => `${pin[1]} ${versionAt(pin)}`);

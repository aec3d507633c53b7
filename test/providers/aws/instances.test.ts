// Instances: ids, names, addresses in the Go manager's order, labels, and requests.

import { describe, expect, test } from "bun:test";
import { failureOf } from "#ccm/testing";
import type { ApiInstance, ApiInterface } from "../../../providers/aws/api/resources.ts";
import { addressesOf, fargate, instanceIDOf } from "../../../providers/aws/instances.ts";
import { messageOf } from "../../../src/core/error-message.ts";
import { statusPage } from "../../../src/inspect/status/status-page.ts";
import { instancesOf, labWith, owned, sourceOf } from "./aws-lab.ts";
import { AwsWorld } from "./aws-world.ts";

const networkInterface = (
  device: number | undefined,
  ipv4: readonly string[],
  { status = "in-use", ipv6 = [] }: { readonly status?: string; readonly ipv6?: readonly string[] } = {},
): ApiInterface => ({
  status,
  attachment: device === undefined ? null : { deviceIndex: String(device) },
  privateIpAddressesSet: ipv4.map((privateIpAddress) => ({ privateIpAddress })),
  ipv6AddressesSet: ipv6.map((ipv6Address) => ({ ipv6Address })),
});

describe("addresses", () => {
  const instance: ApiInstance = {
    instanceId: "i-1",
    privateDnsName: "ip-10-0-0-1.us-west-2.compute.internal",
    dnsName: "ec2-1-2-3-4.us-west-2.compute.amazonaws.com",
    ipAddress: "1.2.3.4",
    networkInterfaceSet: [
      networkInterface(undefined, ["10.0.9.9"]),
      networkInterface(1, ["10.0.1.1"], { ipv6: ["2001:db8::1:1", "2001:db8::1:2"] }),
      networkInterface(2, ["10.0.2.1"], { status: "available" }),
      networkInterface(0, ["10.0.0.1", "10.0.0.2"], { ipv6: ["2001:db8::1"] }),
    ],
  };
  const texts = (families: readonly string[], of = instance) =>
    addressesOf(of, families).map(({ kind, value }) => `${kind} ${value}`);
  const ipv4 = [
    ...["InternalIP 10.0.0.1", "InternalIP 10.0.0.2", "InternalIP 10.0.1.1", "InternalIP 10.0.9.9"],
    "ExternalIP 1.2.3.4",
    "InternalDNS ip-10-0-0-1.us-west-2.compute.internal",
    "Hostname ip-10-0-0-1.us-west-2.compute.internal",
    "ExternalDNS ec2-1-2-3-4.us-west-2.compute.amazonaws.com",
  ];
  const ipv6 = ["InternalIP 2001:db8::1:1", "InternalIP 2001:db8::1"];

  test("puts the addresses of an instance in the Go manager's order, by family and device [F6]", () => {
    expect(texts(["ipv4"])).toEqual(ipv4);
    expect(texts(["ipv6"])).toEqual(ipv6);
    expect(texts(["ipv6", "ipv4"])).toEqual([...ipv6, ...ipv4]);
  });

  test("reports no addresses for an instance that is incomplete", () => {
    expect(texts(["ipv4", "ipv6"], { instanceId: "i-1" })).toEqual([]);
    expect(texts(["ipv4"], { instanceId: "i-1", networkInterfaceSet: null, privateDnsName: null })).toEqual(
      [],
    );
  });
});

test.each([
  ["aws:///us-west-2a/i-0123", "i-0123", undefined],
  ["aws:////i-0123", "i-0123", undefined],
  ["aws://i-0123", undefined, undefined],
  ["aws://anything/us-west-2a/i-0123", "i-0123", undefined],
  ["i-0123", "i-0123", undefined],
  [
    "aws:///us-west-2a/fargate-ip-10-0-0-1.us-west-2.compute.internal",
    undefined,
    "fargate-ip-10-0-0-1.us-west-2.compute.internal",
  ],
  ["aws:///us-west-2a/0123", undefined, undefined],
  ["gce:///us-west-2a/i-0123", undefined, undefined],
  ["node-1", undefined, undefined],
])("reads the provider id %p as the Go manager does", (id, instance, pod) => {
  expect([instanceIDOf(id), fargate.keyOf(id)]).toEqual([instance, pod]);
});

test("uses IPv4 addresses when NodeIPFamilies is empty, as the Go manager does", async () => {
  const { lab } = labWith({ settings: { "node-ip-families": "" } }, ({ account }) => {
    account.add("node-1", { tags: owned });
  });
  expect((await instancesOf(lab))[0]?.addresses.map(({ kind }) => kind)).toContain("InternalIP");
});

test.each([
  ["Client.UserInitiatedShutdown", "stopped"],
  ["Client.UserInitiatedHibernate", "suspended"],
] as const)(
  "shows an instance that was stopped because of %s as %s [F19 F106]",
  async (stateReason, state) => {
    const { lab } = labWith({}, ({ account }) => {
      account.add("node-1", { tags: owned, state: "stopped", stateReason });
    });
    expect((await instancesOf(lab))[0]?.state).toBe(state);
  },
);

test("lists 65 instances with two requests [F9]", async () => {
  const { lab, cloud } = labWith({}, ({ account }) => {
    for (let index = 0; index < 65; index += 1) account.add(`node-${index}`, { tags: owned });
  });
  expect(await instancesOf(lab)).toHaveLength(65);
  expect(cloud.counts()).toEqual({ "ec2:DescribeInstances": 1, "ec2:DescribeAvailabilityZones": 1 });
  await instancesOf(lab);
  expect(cloud.counts()).toEqual({ "ec2:DescribeInstances": 2, "ec2:DescribeAvailabilityZones": 1 });
});

test("lists instances with the tag of the cluster, and looks up all other instances by id [F9 F12]", async () => {
  const { lab, cloud } = labWith({}, ({ account }) => {
    account.add("own", { tags: owned });
    account.add("shared", {
      tags: { "kubernetes.io/cluster/prod": "shared", "kubernetes.io/cluster/b": "owned" },
    });
    account.add("untagged");
    account.add("other", { tags: { "kubernetes.io/cluster/other": "owned" } });
    account.terminate(account.add("gone", { tags: owned }).id);
  });
  const all = await instancesOf(lab);
  expect(all.map(({ names }) => names[0])).toEqual(["own", "shared"]);
  const ids = cloud.account.instances.list().map(({ id }) => id);
  const found = await lab.run(async (call) =>
    sourceOf(lab).lookups?.id?.find([...ids, "i-0fffffffffffffff0"], call),
  );
  expect([...(found ?? [])].map(([, [one]]) => one?.names[0])).toEqual([
    ...["own", "shared", "untagged", "other"],
    ...[undefined, undefined],
  ]);
  expect(cloud.counts()["ec2:DescribeInstances"]).toBe(2);
});

test("finds instances with the former tag of the cluster if the cluster uses it", async () => {
  const { lab } = labWith(
    { settings: { "kubernetes-cluster-id": undefined, "kubernetes-cluster-tag": "prod" } },
    ({ account }) => {
      account.add("former", { tags: { KubernetesCluster: "prod" } });
      account.add("both", { tags: { KubernetesCluster: "prod", ...owned } });
      account.add("other", { tags: { KubernetesCluster: "other" } });
    },
  );
  expect((await instancesOf(lab)).map(({ names }) => names[0]).toSorted()).toEqual(["both", "former"]);
});

test("finds an instance by its private DNS name, its id, and its id with a domain [F13]", async () => {
  const { lab, cloud } = labWith({}, ({ account }) => {
    account.add("ip-10-0-0-1.us-west-2.compute.internal", { tags: owned });
    // An instance in another VPC with the same address.
    account.add("ip-10-0-0-1.us-west-2.compute.internal", {
      tags: { "kubernetes.io/cluster/other": "owned" },
    });
  });
  const [own] = cloud.account.instances.list();
  const { lookups } = sourceOf(lab);
  const byName = await lab.run(async (call) =>
    lookups?.name?.find(["ip-10-0-0-1.us-west-2.compute.internal", own?.id ?? "", "other"], call),
  );
  expect([...(byName ?? [])].map(([, found]) => found.map(({ key }) => key))).toEqual([
    ...[[own?.id ?? ""], [own?.id ?? ""]],
    [],
  ]);
  const byShortName = await lab.run(async (call) =>
    lookups?.shortName?.find([own?.id ?? "", "ip-10-0-0-1"], call),
  );
  expect([...(byShortName ?? [])].map(([, found]) => found.length)).toEqual([1, 0]);
});

test("returns the tags of an instance without another request [F107]", async () => {
  const tags = { ...owned, team: "web", "example.com/rack": "r1", empty: "" };
  const { lab, cloud } = labWith({}, ({ account }) => account.add("plain", { tags }));
  expect((await instancesOf(lab))[0]?.cloudLabels).toEqual(tags);
  expect(cloud.counts()["ec2:DescribeTags"]).toBeUndefined();
});

test("sets the Go manager's type, zone, region and labels for an instance [F4]", async () => {
  const { lab, cloud } = labWith({}, ({ account }) => {
    account.add("plain", { tags: { ...owned, Name: "worker" } });
    account.add("trainer", { tags: owned, type: "p4d.24xlarge" });
  });
  const [plain, trainer] = await instancesOf(lab);
  const zone = { "topology.k8s.aws/zone-id": "usw2-az1" };
  expect([plain?.type, plain?.region, plain?.zone, plain?.labels, plain?.title]).toEqual([
    "m5.large",
    "us-west-2",
    "us-west-2a",
    zone,
    `${plain?.key} (worker)`,
  ]);
  expect(plain?.id as string).toBe(`aws:///us-west-2a/${plain?.key}`);
  expect(Object.keys(trainer?.labels ?? {})).toEqual([
    "topology.k8s.aws/zone-id",
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
  ]);
  expect(cloud.counts()["ec2:DescribeInstanceTopology"]).toBe(1);
});

test.each([
  ["UnauthorizedOperation", 403, "warning"],
  ["UnsupportedOperation", 400, "warning"],
  ["InternalError", 500, "error"],
])(
  "lists all instances when the request for their position in the network fails with %s",
  async (code, status, severity) => {
    const { lab, cloud } = labWith({}, ({ account }) => {
      account.add("plain", { tags: owned });
      account.add("trainer", { tags: owned, type: "trn1.32xlarge" });
    });
    cloud.faults.add({ kind: "status", operation: "ec2:DescribeInstanceTopology", status, code });
    const all = await instancesOf(lab);
    expect(all.map(({ problems }) => problems?.[0]?.severity)).toEqual([undefined, severity as "error"]);
  },
);

describe("AWS on a machine of the cluster", () => {
  const machine = {
    region: undefined,
    vpc: undefined,
    "subnet-id": undefined,
    "kubernetes-cluster-id": undefined,
    "access-key-id": undefined,
    "secret-access-key": undefined,
  };

  test("finds its region, cluster and credentials on the machine where it runs [F81]", async () => {
    const { lab, cloud } = labWith({ settings: machine }, ({ account }) => {
      account.self = account.add("own", { tags: owned }).id;
      account.add("other", { tags: { "kubernetes.io/cluster/other": "owned" } });
    });
    expect((await instancesOf(lab)).map(({ names }) => names[0])).toEqual(["own"]);
    expect(Object.keys(cloud.counts()).filter((name) => name.includes("/latest/"))).toEqual([
      "PUT /latest/api/token",
      "GET /latest/dynamic/instance-identity/document",
      "GET /latest/meta-data/iam/security-credentials/",
      "GET /latest/meta-data/iam/security-credentials/node-role",
    ]);
    // The key of the role ends after six hours.
    await lab.clock.advance((7 * 3_600_000) as never);
    expect(await instancesOf(lab)).toHaveLength(1);
    expect(cloud.counts()["GET /latest/meta-data/iam/security-credentials/node-role"]).toBe(2);
  });

  test("lists no instance while its own machine has the tags of two clusters or of no cluster [F12]", async () => {
    const two = { "kubernetes.io/cluster/a": "shared", "kubernetes.io/cluster/b": "shared" };
    for (const [tags, found] of [
      [two, "the tags of several clusters (a, b)"],
      [{}, "no tag of a cluster"],
    ] as const) {
      const { lab, cloud } = labWith({ settings: machine }, ({ account }) => {
        account.self = account.add("own", { tags }).id;
      });
      expect(messageOf(await failureOf(instancesOf(lab)))).toBe(
        `The machine of the manager, ${cloud.account.self}, has ${found}, so Fairlead does not know which instances belong to this cluster. Nothing is read from or changed in AWS. Set KubernetesClusterID in the file of --cloud-config, or give the machine one tag such as kubernetes.io/cluster/my-cluster=owned.`,
      );
    }
  });
});

test("ignores a Fargate Node, and no message suggests settings for it or calls it a target", async () => {
  const w = new AwsWorld();
  w.joinNode("fargate");
  const providerID = "aws:///us-west-2a/fargate-ip-10-0-0-1.us-west-2.compute.internal";
  w.world.changeNode("fargate", (node) => ({ ...node, spec: { ...node.spec, providerID } }));
  await w.start();
  await w.world.pass(60);
  expect(w.world.events("fargate")).toEqual([
    `Warning InstanceUnreadable Provider ID ${providerID} is of source fargate, whose Nodes are not instances. Fairlead does not initialize, update or delete the Node, and creates no routes to it. Another program must remove the taint node.cloudprovider.kubernetes.io/uninitialized.`,
  ]);
  const page = statusPage({ manager: w.world.manager, program: "aws", clock: w.world.clock });
  const request = { method: "GET", path: "/status", query: new URLSearchParams(), headers: [] };
  const { body } = await page({ ...request, body: async () => "" });
  expect(body).toContain("fargate");
  expect(body).not.toContain("Machines without access");
});

// Nodes and routes on moto: another implementation of EC2 understands Fairlead's requests, and
// Fairlead understands its responses. Runs as `npm run test:clients -- aws/moto`.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { motoCluster } from "./cluster.ts";
import { ask, startMoto } from "./moto-server.ts";

const moto = await startMoto(process.env["MOTO_SERVER"] ?? "");
const cluster = motoCluster();
const ids: string[] = [];
const names: string[] = [];
let table = "";
let subnet = "";

const tagged = (kind: string) => ({
  "TagSpecification.1.ResourceType": kind,
  "TagSpecification.1.Tag.1.Key": "kubernetes.io/cluster/test",
  "TagSpecification.1.Tag.1.Value": "owned",
});

async function runInstances(count: number, parameters: Readonly<Record<string, string>> = {}) {
  const { instancesSet } = await ask(moto.url, "RunInstances", {
    ImageId: "ami-12c6146b",
    MinCount: String(count),
    MaxCount: String(count),
    SubnetId: subnet,
    InstanceType: "m5.large",
    ...tagged("instance"),
    ...parameters,
  });
  return instancesSet as readonly { readonly instanceId: string; readonly privateDnsName: string }[];
}

const routes = async (): Promise<readonly string[]> => {
  const { routeTableSet } = await ask(moto.url, "DescribeRouteTables", { "RouteTableId.1": table });
  const all: readonly { destinationCidrBlock: string; instanceId?: string }[] = routeTableSet[0].routeSet;
  return all.flatMap(({ destinationCidrBlock: cidr, instanceId }) =>
    instanceId ? [`${cidr} ${instanceId}`] : [],
  );
};

beforeAll(async () => {
  const { vpcSet } = await ask(moto.url, "DescribeVpcs", {});
  const vpc: string = vpcSet[0].vpcId;
  const { subnetSet } = await ask(moto.url, "DescribeSubnets", {});
  subnet = subnetSet[0].subnetId;
  const made = await ask(moto.url, "CreateRouteTable", { VpcId: vpc, ...tagged("route-table") });
  table = made.routeTable.routeTableId;
  for (const { instanceId, privateDnsName } of await runInstances(5)) {
    ids.push(instanceId);
    names.push(privateDnsName);
  }
  // Instances of another cluster.
  await runInstances(2, { "TagSpecification.1.Tag.1.Key": "kubernetes.io/cluster/other" });
  for (const [index, name] of names.entries()) cluster.joinNode(name, `10.244.${index}.0/24`);
  await cluster.start(
    {
      region: "us-west-2",
      vpc,
      "subnet-id": subnet,
      "kubernetes-cluster-id": "test",
      endpoint: moto.url,
      "access-key-id": "test",
      "secret-access-key": "test-secret",
    },
    "--cluster-cidr=10.244.0.0/16",
  );
});

afterAll(async () => {
  await cluster.stop();
  await moto[Symbol.asyncDispose]();
});

test("initializes five Nodes, with the Go manager's labels [F1 F4]", async () => {
  await cluster.until("five initialized Nodes", () =>
    names.every((name) => {
      const { spec, metadata } = cluster.node(name) ?? {};
      return spec?.providerID !== undefined && metadata?.labels?.["topology.k8s.aws/zone-id"] !== undefined;
    }),
  );
  for (const [index, name] of names.entries()) {
    const { spec, status, metadata } = cluster.node(name) ?? {};
    expect(spec?.providerID).toBe(`aws:///us-west-2a/${ids[index]}`);
    expect(spec?.taints ?? []).toEqual([]);
    expect(metadata?.labels).toMatchObject({
      "node.kubernetes.io/instance-type": "m5.large",
      "topology.kubernetes.io/zone": "us-west-2a",
      "topology.kubernetes.io/region": "us-west-2",
    });
    const kinds = (status?.addresses ?? []).map(({ type, address }) =>
      type === "Hostname" ? address : type,
    );
    expect(kinds).toContain("InternalIP");
    expect(kinds).toContain(name);
  }
});

test("creates a route for each Node, with the source/destination check of its instance off [F58]", async () => {
  const wanted = ids.map((id, index) => `10.244.${index}.0/24 ${id}`);
  await cluster.until("five routes", async () => (await routes()).length === wanted.length);
  expect((await routes()).toSorted()).toEqual(wanted.toSorted());
  const { reservationSet } = await ask(moto.url, "DescribeInstances", { "InstanceId.1": ids[0] ?? "" });
  expect(reservationSet[0].instancesSet[0].sourceDestCheck).toBe("false");
  expect([cluster.count("CreateRoute"), cluster.count("ModifyInstanceAttribute")]).toEqual([5, 5]);
});

test("removes the route of a deleted Node while its instance still runs [F58]", async () => {
  const name = names[4] ?? "";
  cluster.deleteNode(name);
  await cluster.until("four routes", async () => (await routes()).length === 4);
  expect((await routes()).some((route) => route.endsWith(ids[4] ?? ""))).toBe(false);
});

test("keeps the Node of a stopped instance with the shutdown taint [F22]", async () => {
  await ask(moto.url, "StopInstances", { "InstanceId.1": ids[0] ?? "" });
  cluster.loseNode(names[0] ?? "");
  await cluster.until("the taint", () =>
    cluster
      .node(names[0] ?? "")
      ?.spec?.taints?.some(({ key }) => key === "node.cloudprovider.kubernetes.io/shutdown"),
  );
});

test("deletes the Node of a terminated instance, and no other Node [F18]", async () => {
  await ask(moto.url, "TerminateInstances", { "InstanceId.1": ids[1] ?? "" });
  cluster.loseNode(names[1] ?? "");
  await cluster.until("the deletion", () => cluster.node(names[1] ?? "") === undefined);
  expect([0, 2, 3].map((index) => cluster.node(names[index] ?? "") === undefined)).toEqual([
    false,
    false,
    false,
  ]);
});

test("initializes a Node that is named by its instance id", async () => {
  const [one] = await runInstances(1);
  const id = one?.instanceId ?? "";
  cluster.joinNode(id, "10.244.20.0/24");
  await cluster.until(
    "the provider id",
    () => cluster.node(id)?.spec?.providerID === `aws:///us-west-2a/${id}`,
  );
});

test("continues to list when moto has no topology, and holds only the Node of that instance type", async () => {
  const [one] = await runInstances(1, { InstanceType: "p4d.24xlarge" });
  const [other] = await runInstances(1);
  cluster.joinNode(one?.privateDnsName ?? "", "10.244.21.0/24");
  cluster.joinNode(other?.privateDnsName ?? "", "10.244.22.0/24");
  await cluster.until(
    "the other Node",
    () => cluster.node(other?.privateDnsName ?? "")?.spec?.providerID !== undefined,
  );
  expect(cluster.count("DescribeInstanceTopology")).toBeGreaterThan(0);
  expect(cluster.node(one?.privateDnsName ?? "")?.spec?.providerID).toBeUndefined();
});

test("adds the operator's tags to the instances of Nodes, and removes them [F17]", async () => {
  await cluster.stop();
  cluster.sent.length = 0;
  await cluster.start(
    {
      region: "us-west-2",
      vpc: "vpc-1",
      "subnet-id": subnet,
      "kubernetes-cluster-id": "test",
      endpoint: moto.url,
      "access-key-id": "test",
      "secret-access-key": "test-secret",
      tags: "team=a",
      resources: "instance",
    },
    "--controllers=cloud-node,tagging",
  );
  const teamOf = async (id: string): Promise<string | undefined> => {
    const { reservationSet } = await ask(moto.url, "DescribeInstances", { "InstanceId.1": id });
    const tags: readonly { key: string; value: string }[] = reservationSet[0].instancesSet[0].tagSet;
    return tags.find(({ key }) => key === "team")?.value;
  };
  const [first = "", second = ""] = [ids[2], ids[3]];
  await cluster.until(
    "the tags",
    async () => (await teamOf(first)) === "a" && (await teamOf(second)) === "a",
  );
  cluster.deleteNode(names[2] ?? "");
  await cluster.until("the removal", async () => (await teamOf(first)) === undefined);
  expect(await teamOf(second)).toBe("a");
  expect(cluster.count("DeleteTags")).toBe(1);
});

test("keeps all Nodes, although none is ready, when moto restarts with an empty account [F20]", async () => {
  await cluster.stop();
  let url: string | undefined = moto.url;
  using gate = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const down = new Response("moto is down", { status: 503 });
      if (url === undefined) return down;
      const { headers } = request;
      return fetch(url, { method: "POST", body: await request.text(), headers }).catch(() => down);
    },
  });
  await cluster.start(
    {
      region: "us-west-2",
      vpc: "vpc-1",
      "subnet-id": subnet,
      "kubernetes-cluster-id": "test",
      endpoint: gate.url.origin,
      "access-key-id": "test",
      "secret-access-key": "test-secret",
    },
    "--controllers=cloud-node,cloud-node-lifecycle",
  );
  const listings = async (what: string, count: number): Promise<void> => {
    const from = cluster.count("DescribeInstances");
    await cluster.until(what, () => cluster.count("DescribeInstances") >= from + count);
  };
  await listings("listings of the former moto", 2);
  const nodes = cluster.server.store.list("nodes").map(({ metadata }) => metadata.name);
  expect(nodes.length).toBeGreaterThan(3);
  url = undefined;
  for (const name of nodes) cluster.loseNode(name);
  await using empty = await startMoto(process.env["MOTO_SERVER"] ?? "");
  url = empty.url;
  await cluster.until("the hold", () => cluster.logged.join("\n").includes("is treated as a cloud fault"));
  await listings("listings of the new moto", 10);
  expect(cluster.server.store.list("nodes").map(({ metadata }) => metadata.name)).toEqual(nodes);
});

// Routes as the compiled executable keeps them, against a real API server and a cloud served over HTTP: made for Nodes,
// gone with them, put right when somebody took them away, and nobody else's.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Node } from "../../src/kube/objects.ts";
import { nodes } from "../../src/kube/resources.ts";
import { never } from "../kube/cluster/connect.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { createKubectl } from "./rig/kubectl.ts";

let cluster: Cluster;
beforeEach(async () => {
  cluster = await openCluster();
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const manager = (...flags: readonly string[]) =>
  cluster.manager({ flags: ["--leader-elect=false", "--cluster-cidr=10.244.0.0/16", ...flags] });

/** As a kubelet of a network that waits for its routes tells of itself. */
const withoutNetwork = {
  type: "NetworkUnavailable",
  status: "True",
  reason: "NoRouteCreated",
  message: "Node created without a route",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  lastHeartbeatTime: "2026-01-01T00:00:00Z",
};

const sayWithoutNetwork = (name: string): Promise<unknown> => {
  const contentType = "application/strategic-merge-patch+json";
  const body = { status: { conditions: [withoutNetwork] } };
  return cluster.api.patch(nodes, { name }, { contentType, body, subresource: "status" }, never);
};

/** Gives the id of its machine. */
const join = async (name: string, ...podCIDRs: readonly string[]): Promise<string> => {
  const { id } = cluster.cloud.machines.add(name);
  const [podCIDR = ""] = podCIDRs;
  await cluster.join(name, { providerID: `fake://${id}`, taints: [], podCIDR, podCIDRs });
  await sayWithoutNetwork(name);
  return id;
};

const conditionOf = (node: Node | undefined) =>
  node?.status.conditions?.find(({ type }) => type === "NetworkUnavailable");

const hasNetwork = (name: string): Promise<unknown> =>
  cluster.until(`${name} to have its network`, async () => {
    return conditionOf(await cluster.node(name))?.status === "False";
  });

/** What leads where, in the order of the destinations. */
const table = (): readonly string[] =>
  cluster.cloud.routes
    .list()
    .map(({ destination, machine }) => `${destination} ${machine}`)
    .toSorted();

const tableIs = (...wanted: readonly string[]): Promise<unknown> =>
  cluster.until(`the routes ${wanted.join(", ")}`, () => table().join() === wanted.join(), {
    explain: () => table().join("\\n"),
  });

test("a node gets its route and loses NetworkUnavailable; the route goes with the node [F58 F59]", async () => {
  const first = await join("worker-1", "10.244.1.0/24");
  manager();
  await hasNetwork("worker-1");
  expect(conditionOf(await cluster.node("worker-1"))).toMatchObject({
    reason: "RouteCreated",
    message: "RouteController created a route",
  });
  const second = await join("worker-2", "10.244.2.0/24");
  await hasNetwork("worker-2");
  expect(table()).toEqual([`10.244.1.0/24 ${first}`, `10.244.2.0/24 ${second}`]);
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  expect(await kubectl("describe", "node", "worker-2")).toContain("RouteCreated");
  await kubectl("delete", "node", "worker-1", "--timeout=60s");
  await tableIs(`10.244.2.0/24 ${second}`);
});

test("a route that somebody removed in the cloud comes back at the next look [F58]", async () => {
  const id = await join("worker-1", "10.244.1.0/24");
  manager("--route-reconciliation-period=2s");
  await hasNetwork("worker-1");
  const [route] = cluster.cloud.routes.list();
  cluster.cloud.routes.remove(route?.id ?? "");
  await tableIs(`10.244.1.0/24 ${id}`);
  expect(cluster.cloud.routes.list()[0]?.id).not.toBe(route?.id);
});

test("routes outside the cluster's range and those of another cluster stay as they are [F60]", async () => {
  const { routes } = cluster.cloud;
  const ours = { cluster: "kubernetes" };
  // With our mark, but outside; inside, but with another mark; and one of a node that is gone.
  const theirs = [
    routes.create({ destination: "192.168.7.0/24", machine: "70", labels: ours }),
    routes.create({ destination: "10.0.0.0/8", machine: "71", labels: ours }),
    routes.create({ destination: "10.244.9.0/24", machine: "72", labels: { cluster: "another" } }),
  ];
  routes.create({ destination: "10.244.8.0/24", machine: "73", labels: ours });
  const id = await join("worker-1", "10.244.1.0/24");
  await join("outside", "10.99.1.0/24");
  manager("--route-reconciliation-period=1s");
  await hasNetwork("worker-1");
  const checks = () => cluster.cloud.seen.filter(({ operation }) => operation === "GET /routes").length;
  const before = checks();
  await cluster.until("three more looks at all routes", () => checks() >= before + 3);
  expect(routes.list()).toEqual([
    ...theirs,
    expect.objectContaining({ destination: "10.244.1.0/24", machine: id }),
  ]);
  // Nothing can be done for it, and it says so.
  expect(conditionOf(await cluster.node("outside"))?.status).toBe("True");
});

test("a restart changes nothing in the cloud and on no Node [F58]", async () => {
  for (const number of [1, 2, 3]) await join(`worker-${number}`, `10.244.${number}.0/24`);
  const first = manager();
  for (const number of [1, 2, 3]) await hasNetwork(`worker-${number}`);
  await first.stop();
  const versions = async () =>
    (await cluster.api.listPage(nodes, {}, never)).items.map(({ metadata }) => metadata.resourceVersion);
  const before = await versions();
  const { seen } = cluster.cloud;
  const since = seen.length;
  manager("--route-reconciliation-period=1s");
  const checks = () => seen.slice(since).filter(({ operation }) => operation === "GET /routes").length;
  await cluster.until("three looks at all routes", () => checks() >= 3);
  expect(seen.slice(since).filter(({ mutates }) => mutates)).toEqual([]);
  expect(await versions()).toEqual(before);
});

test("a node of two families has a route for each, and somebody's word against it does not stay [F58 F63]", async () => {
  const id = await join("worker-1", "10.244.1.0/24", "fd00:244:1::/64");
  manager("--cluster-cidr=10.244.0.0/16,fd00:244::/32");
  await hasNetwork("worker-1");
  expect(table()).toEqual([`10.244.1.0/24 ${id}`, `fd00:244:1::/64 ${id}`]);
  await sayWithoutNetwork("worker-1");
  await hasNetwork("worker-1");
});

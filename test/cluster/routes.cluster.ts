// Routes of the executable with a real API server and a cloud over HTTP: created for Nodes, removed with them, repaired, and
// never changed if another cluster owns them.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Node } from "../../src/kube/objects.ts";
import { nodes } from "../../src/kube/resources.ts";
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

/** The condition that a network without routes sets. */
const withoutNetwork = {
  type: "NetworkUnavailable",
  status: "True",
  reason: "NoRouteCreated",
  message: "Node created without a route",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  lastHeartbeatTime: "2026-01-01T00:00:00Z",
};

const setNetworkUnavailable = (name: string): Promise<unknown> => {
  const contentType = "application/strategic-merge-patch+json";
  const body = { status: { conditions: [withoutNetwork] } };
  return cluster.api.patch(nodes, { name }, { contentType, body, subresource: "status" });
};

/** Returns the id of the Node's machine. */
const join = async (name: string, ...podCIDRs: readonly string[]): Promise<string> => {
  const { id } = cluster.cloud.machines.add(name);
  const [podCIDR = ""] = podCIDRs;
  await cluster.join(name, { providerID: `fake://${id}`, taints: [], podCIDR, podCIDRs });
  await setNetworkUnavailable(name);
  return id;
};

const conditionOf = (node: Node | undefined) =>
  node?.status.conditions?.find(({ type }) => type === "NetworkUnavailable");

const hasNetwork = (name: string): Promise<unknown> =>
  cluster.until(`NetworkUnavailable=False on ${name}`, async () => {
    return conditionOf(await cluster.node(name))?.status === "False";
  });

/** The routes in the cloud, sorted by destination. */
const routeTable = (): readonly string[] =>
  cluster.cloud.routes
    .list()
    .map(({ destination, machine }) => `${destination} ${machine}`)
    .toSorted();

const tableIs = (...wanted: readonly string[]): Promise<unknown> =>
  cluster.until(`the routes ${wanted.join(", ")}`, () => routeTable().join() === wanted.join(), {
    explain: () => routeTable().join("\\n"),
  });

test("a Node gets a route and loses NetworkUnavailable, and the route is removed with the Node [F58 F59]", async () => {
  const first = await join("worker-1", "10.244.1.0/24");
  manager();
  await hasNetwork("worker-1");
  expect(conditionOf(await cluster.node("worker-1"))).toMatchObject({
    reason: "RouteCreated",
    message: "RouteController created a route",
  });
  const second = await join("worker-2", "10.244.2.0/24");
  await hasNetwork("worker-2");
  expect(routeTable()).toEqual([`10.244.1.0/24 ${first}`, `10.244.2.0/24 ${second}`]);
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  expect(await kubectl("describe", "node", "worker-2")).toContain("RouteCreated");
  await kubectl("delete", "node", "worker-1", "--timeout=60s");
  await tableIs(`10.244.2.0/24 ${second}`);
});

test("recreates a route that was removed in the cloud at the next full reconciliation [F58]", async () => {
  const id = await join("worker-1", "10.244.1.0/24");
  manager("--route-reconciliation-period=2s", "--absence-confirmation=2s");
  await hasNetwork("worker-1");
  const [route] = cluster.cloud.routes.list();
  cluster.cloud.routes.remove(route?.id ?? "");
  await tableIs(`10.244.1.0/24 ${id}`);
  expect(cluster.cloud.routes.list()[0]?.id).not.toBe(route?.id);
});

test("routes outside the cluster CIDR and routes of other clusters stay unchanged [F60]", async () => {
  const { routes } = cluster.cloud;
  const labels = { cluster: "kubernetes" };
  // Two routes with the cluster's label outside its CIDR, and one inside with another cluster's label.
  const untouched = [
    routes.create({ destination: "192.168.7.0/24", machine: "70", labels }),
    routes.create({ destination: "10.0.0.0/8", machine: "71", labels }),
    routes.create({ destination: "10.244.9.0/24", machine: "72", labels: { cluster: "another" } }),
  ];
  routes.create({ destination: "10.244.8.0/24", machine: "73", labels });
  const id = await join("worker-1", "10.244.1.0/24");
  await join("outside", "10.99.1.0/24");
  manager("--route-reconciliation-period=1s");
  await hasNetwork("worker-1");
  const checks = () => cluster.cloud.seen.filter(({ operation }) => operation === "GET /routes").length;
  const before = checks();
  await cluster.until("three more full reconciliations", () => checks() >= before + 3);
  expect(routes.list()).toEqual([
    ...untouched,
    expect.objectContaining({ destination: "10.244.1.0/24", machine: id }),
  ]);
  // The pod range is outside the cluster CIDR, so the Node stays without a network.
  expect(conditionOf(await cluster.node("outside"))?.status).toBe("True");
});

test("a restart changes neither the cloud nor any Node [F58]", async () => {
  for (const number of [1, 2, 3]) await join(`worker-${number}`, `10.244.${number}.0/24`);
  const first = manager();
  for (const number of [1, 2, 3]) await hasNetwork(`worker-${number}`);
  await first.stop();
  const versions = async () =>
    (await cluster.api.list(nodes)).map(({ metadata }) => metadata.resourceVersion);
  const before = await versions();
  const { seen } = cluster.cloud;
  const since = seen.length;
  manager("--route-reconciliation-period=1s");
  const checks = () => seen.slice(since).filter(({ operation }) => operation === "GET /routes").length;
  await cluster.until("three full reconciliations", () => checks() >= 3);
  expect(seen.slice(since).filter(({ mutates }) => mutates)).toEqual([]);
  expect(await versions()).toEqual(before);
});

test("a dual-stack Node has a route per family, and another client's NetworkUnavailable=True is corrected [F58 F63]", async () => {
  const id = await join("worker-1", "10.244.1.0/24", "fd00:244:1::/64");
  manager("--cluster-cidr=10.244.0.0/16,fd00:244::/32");
  await hasNetwork("worker-1");
  expect(routeTable()).toEqual([`10.244.1.0/24 ${id}`, `fd00:244:1::/64 ${id}`]);
  await setNetworkUnavailable("worker-1");
  await hasNetwork("worker-1");
});

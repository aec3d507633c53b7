import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { lbFinalizer, ServiceWorld } from "../support/service-world.ts";

// Rows of upstream's controllers/service/controller_test.go that need the whole controller: its requests to the cloud
// and to the API server. Upstream counts calls of its per-Service methods; here the requests to the fake cloud
// replace them. Syncs, retries and events are in service-controller-sync.test.ts.

const worldWith = async (nodes = 3): Promise<ServiceWorld> => {
  const w = new ServiceWorld({ nodes });
  await w.start();
  await w.pass(5);
  w.forget();
  return w;
};

const isWrite = (path: string): boolean => path.endsWith("/services/web/status");
const port = (protocol: string): JsonObject => ({ ports: [{ port: 80, protocol }] });

describe("TestSyncLoadBalancerIfNeeded", () => {
  const rows: readonly [string, JsonObject, readonly string[], string, number][] = [
    ["1: does nothing for a ClusterIP without finalizer", { type: "ClusterIP" }, [], "none", 0],
    ["2: creates a UDP load balancer [F35]", port("UDP"), [], "create", 2],
    ["3: creates a TCP load balancer", port("TCP"), [], "create", 2],
    ["4: creates an SCTP load balancer [F36]", port("SCTP"), [], "create", 2],
    [
      "5: does nothing for another class",
      { loadBalancerClass: "example.com/custom-loadbalancer" },
      [],
      "none",
      0,
    ],
    ["8: writes no finalizer when it exists", port("TCP"), [lbFinalizer], "create", 1],
  ];
  test.each(rows)("TestSyncLoadBalancerIfNeeded %s", async (_, spec, finalizers, call, patches) => {
    const w = await worldWith();
    const { metadata } = w.create("web", { spec, finalizers });
    await w.pass(30);
    expect(w.changes).toEqual(call === "create" ? ["POST /balancers"] : []);
    expect(w.written.filter(isWrite)).toHaveLength(patches);
    const [balancer] = w.cloud.balancers.list();
    if (call === "create") {
      expect(balancer?.name).toBe(`a${metadata.uid.replaceAll("-", "")}`.slice(0, 32));
      const { ports } = w.get("web").spec;
      expect(balancer?.listeners.map(({ protocol, port }) => ({ protocol, port }))).toEqual(
        ports?.map(({ protocol = "", port }) => ({ protocol, port })) ?? [],
      );
    } else expect(balancer).toBeUndefined();
  });

  // Upstream writes the finalizer and the status separately. Without its last finalizer the Service is deleted, so
  // the second write fails. Fairlead writes once. Row 6 starts with a status that the server clears.
  test.each([
    [
      "6: a ClusterIP with finalizer and load balancer",
      (w: ServiceWorld) => w.editSpec("web", { type: "ClusterIP" }),
    ],
    ["7: a deleted Service", (w: ServiceWorld) => w.delete("web")],
  ] as const)(
    "TestSyncLoadBalancerIfNeeded %s: its load balancer is deleted with one write, where upstream needs two",
    async (_, change) => {
      const w = await worldWith();
      w.create("web");
      await w.pass(30);
      w.forget();
      change(w);
      await w.pass(30);
      expect(w.changes).toEqual(["DELETE /balancers/b1"]);
      expect(w.written.filter(isWrite)).toHaveLength(1);
      expect(w.find("web")?.metadata.finalizers ?? []).toEqual([]);
      expect(w.addressesOf("web")).toEqual([]);
    },
  );
});

describe("TestUpdateNodesInExternalLoadBalancer", () => {
  const rows: readonly [string, readonly string[], number, number][] = [
    ["1: updates nothing without Services", [], 1, 0],
    ["2: updates nothing for a ClusterIP and a NodePort", ["ClusterIP", "NodePort"], 2, 0],
    ["3: updates one load balancer", ["LoadBalancer"], 3, 1],
    ["4: updates three load balancers", ["LoadBalancer", "LoadBalancer", "LoadBalancer"], 4, 3],
    [
      "5: updates the two load balancers of four Services",
      ["NodePort", "LoadBalancer", "LoadBalancer", "ClusterIP"],
      5,
      2,
    ],
    ["7: updates four load balancers", Array<string>(4).fill("LoadBalancer"), 2, 4],
  ];
  test.each(rows)("TestUpdateNodesInExternalLoadBalancer %s", async (_, types, workers, calls) => {
    const w = new ServiceWorld({ nodes: 0 });
    await w.start(`--concurrent-service-syncs=${workers}`);
    for (const [index, type] of types.entries()) w.create(`s${index}`, { spec: { type } });
    await w.pass(30);
    w.forget();
    for (const name of ["node1", "node2", "node3"]) w.addNode(name);
    await w.pass(30);
    expect(w.changes).toHaveLength(calls);
    for (const { targets } of w.cloud.balancers.list()) expect(targets).toHaveLength(3);
  });
});

describe("TestNodeChangesForStableNodeSetEnabled", () => {
  const ready = (w: ServiceWorld, status: string) =>
    w.changeNode("node-1", (node) => ({
      ...node,
      status: { ...node.status, conditions: [{ type: "Ready", status: status as "True" }] },
    }));
  const taint = (w: ServiceWorld, key: string) =>
    w.changeNode("node-1", ({ spec, ...node }) => ({
      ...node,
      spec: { ...spec, taints: [{ key, effect: "NoSchedule" }] },
    }));
  const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";
  const rows: readonly [string, (w: ServiceWorld) => void, number, number][] = [
    ["1: equal Nodes change nothing", () => undefined, 0, 3],
    ["2: a new Node is added", (w) => w.addNode("node-3"), 3, 4],
    ["4: a Node that is not Ready stays", (w) => ready(w, "False"), 0, 3],
    [
      "5: a Node with the autoscaler's taint is removed",
      (w) => taint(w, "ToBeDeletedByClusterAutoscaler"),
      3,
      2,
    ],
    ["6: a Node that is Ready again stays", (w) => ready(w, "True"), 0, 3],
    [
      "7: a Node excluded by an empty label is removed",
      (w) =>
        w.changeNode("node-1", (node) => ({
          ...node,
          metadata: { ...node.metadata, labels: { [excluded]: "" } },
        })),
      3,
      2,
    ],
    ["8: a deleted Node is removed", (w) => w.removeNode("node-2"), 3, 2],
    [
      "9: a Node with a deletion timestamp is removed",
      (w) =>
        w.changeNode("node-1", (node) => ({
          ...node,
          metadata: { ...node.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
        })),
      3,
      2,
    ],
    ["10: a Node with a foreign taint stays", (w) => taint(w, "Other"), 0, 3],
  ];
  const three = async (): Promise<ServiceWorld> => {
    const w = await worldWith();
    for (const name of ["a", "b", "c"]) {
      w.create(name, { spec: name === "a" ? {} : { externalTrafficPolicy: "Local" } });
    }
    await w.pass(30);
    w.forget();
    return w;
  };

  test.each(rows)("TestNodeChangesForStableNodeSetEnabled %s", async (_, change, calls, targets) => {
    const w = await three();
    change(w);
    await w.pass(30);
    expect(w.changes).toHaveLength(calls);
    expect(w.cloud.balancers.list().map((balancer) => balancer.targets.length)).toEqual([
      targets,
      targets,
      targets,
    ]);
  });

  // Upstream remembers the Nodes before the call and counts three calls in all; it retries failed calls through its
  // other queue as a full ensure. Fairlead retries them as target updates.
  test("TestNodeChangesForStableNodeSetEnabled 3: a failed call is repeated until every load balancer has the Node", async () => {
    const w = await three();
    w.cloud.faults.add({ kind: "status", status: 500, operation: "PATCH /balancers/{id}", calls: 3 });
    w.addNode("node-3");
    await w.pass(60);
    expect(w.changes).toHaveLength(6);
    expect(w.cloud.balancers.list().map(({ targets }) => targets.length)).toEqual([4, 4, 4]);
  });
});

// Rows 4 and 5, a failing lister, are in service-adapted-rows.test.ts.
test("TestNodeChangesInExternalLoadBalancer 1 2 3: four load balancers follow one, two and four Nodes with four calls each", async () => {
  const w = await worldWith(0);
  for (const name of ["s0", "s1", "s3", "s4"]) w.create(name);
  await w.pass(30);
  for (const names of [["n1"], ["n2"], ["n3", "n4"]]) {
    w.forget();
    for (const name of names) w.addNode(name);
    await w.pass(30);
    expect(w.changes).toHaveLength(4);
  }
});

test.each([
  ["1: other provider ids update both load balancers", ["cumulus/1", "cumulus/2"], 2],
  ["2: equal Nodes update nothing", [], 0],
  ["3: a replaced Node updates both load balancers", ["", "gone"], 2],
] as const)("TestNodesNotEqual %s", async (_, [first, second], calls) => {
  const w = await worldWith(2);
  for (const name of ["a", "b"]) w.create(name);
  await w.pass(30);
  w.forget();
  const rename = (node: string) => {
    const id = `fake://${w.cloud.machines.add("anew").id}`;
    w.changeNode(node, ({ spec, ...rest }) => ({ ...rest, spec: { ...spec, providerID: id as never } }));
  };
  if (first === "cumulus/1") for (const node of ["node-0", "node-1"]) rename(node);
  if (second === "gone") {
    w.removeNode("node-1");
    w.addNode("node-3");
  }
  await w.pass(30);
  expect(w.changes).toHaveLength(calls);
});
